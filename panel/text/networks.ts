/** An IPv4 address in dotted decimal (RFC 4632 writes networks with it). */
export function isIpv4(text: string): boolean {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255);
}

/** An IPv6 address (RFC 4291, 2.2), without a zone, as the URL Standard reads it (3.5). */
export function isIpv6(text: string): boolean {
  return /^[\da-f:.]+$/i.test(text) && URL.canParse(`http://[${text}]`);
}

export function isAddress(text: string): boolean {
  return isIpv4(text) || isIpv6(text);
}

/** A network in CIDR notation (RFC 4632, RFC 4291), or a single address. */
export function isCidr(text: string): boolean {
  const [address = '', length, more] = text.split('/');
  if (more !== undefined) return false;
  const most = isIpv4(address) ? 32 : isIpv6(address) ? 128 : null;
  if (most === null) return false;
  return length === undefined || (/^(?:0|[1-9]\d{0,2})$/.test(length) && Number(length) <= most);
}

/** A domain name or suffix: labels of letters, digits and inner hyphens, in any script, 253 characters at most; a leading dot is allowed. */
export function isDomainSuffix(text: string): boolean {
  const name = text.replace(/^\./, '').replace(/\.$/, '');
  return name !== '' && name.length <= 253 && name.split('.').every(isLabel);
}

function isLabel(label: string): boolean {
  return label.length <= 63 && /^[\p{L}\p{N}_](?:[\p{L}\p{M}\p{N}_-]*[\p{L}\p{M}\p{N}_])?$/u.test(label);
}

/** An http(s) address as lists and upstreams use it. */
export function isWebAddress(text: string, schemes: readonly string[] = ['http:', 'https:']): boolean {
  return URL.canParse(text) && schemes.includes(new URL(text).protocol);
}

/** The lines of a text field: trimmed, without empty ones. */
export function linesOf(text: string): readonly string[] {
  return text
    .split(/[\n,;]/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
