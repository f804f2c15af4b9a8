const SPEAKS_TLS = 'it speaks TLS there: give the address as https://';

/** Advice after a connection that was closed without an answer, as servers that expect TLS and others do. */
export const MAY_SPEAK_TLS = 'if it speaks TLS there, give the address as https://';

const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);

const OF_CERTIFICATES: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired: renew it there',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet: look whether the clocks of both machines are right',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for other names than that of the address',
};

/**
 * Explains a failed call if only one side speaks TLS, or the certificate is refused; null for any other failure.
 * `caFlag` is the flag that names trusted certificates.
 */
export function tlsWords(error: Error, { isSecure, caFlag }: { isSecure: boolean; caFlag: string }): string | null {
  if (!isSecure) return 'rawPacket' in error && isTlsRecord(error.rawPacket) ? SPEAKS_TLS : null;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (/wrong version number|packet length too long/.test(error.message))
    return 'it speaks no TLS there: give the address as http://';
  if (UNTRUSTED.has(code))
    return `its certificate is self-signed, or of an authority that is not known here (${code}): give that certificate with ${caFlag} FILE`;
  const words = OF_CERTIFICATES[code];
  return words === undefined ? null : `${words} (${error.message})`;
}

const ALERT_OR_HANDSHAKE: ReadonlySet<unknown> = new Set([0x15, 0x16]);

function isTlsRecord(packet: unknown): boolean {
  return Buffer.isBuffer(packet) && ALERT_OR_HANDSHAKE.has(packet[0]) && packet[1] === 3;
}

/**
 * Returns a message for an answer in plain text from a server that expects TLS, in the form of nginx and programs in
 * Go; null for any other answer.
 */
export function askedForTls(status: number, body: Buffer): string | null {
  const isAsked = /plain HTTP request was sent to HTTPS port|HTTP request to an HTTPS server/;
  return status === 400 && isAsked.test(body.toString('latin1', 0, 1000)) ? `it answered 400: ${SPEAKS_TLS}` : null;
}
