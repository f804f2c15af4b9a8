import { isIP, SocketAddress } from 'node:net';
import type { DnsRewrite } from '../core/model.js';
import { domainName, isAddress } from '../wire/dns-values.js';
import { withoutEnd } from '../wire/text-ends.js';
import { asciiLowerCase } from './line-rules.js';

/** The operator's own names. */
interface Entry {
  readonly index: number;
  /** The address, or the name whose records are the answer. */
  readonly to: string;
}

/**
 * Reads own names; `*.name` covers all names below. With `takesAll` every entry that fits a name answers, and texts are
 * used as they are, like in servers from 0.4.6 on; otherwise the entry of the name, or of the nearest above, answers,
 * and texts that are not names are left out.
 */
export function createOwnNames(rewrites: readonly DnsRewrite[], takesAll: boolean) {
  const exact = new Map<string, Entry[]>();
  const below = new Map<string, Entry[]>();
  const ignored: string[] = [];
  for (const [index, { domain, answer }] of rewrites.entries()) {
    const name = domainName(domain.trim());
    const entry = { index, to: targetOf(answer) };
    if (name === null || (!isAddress(entry.to) && domainName(entry.to) === null)) ignored.push(domain);
    if (!takesAll && name === null) continue;
    const text = takesAll ? plainName(domain) : (name ?? '');
    const entries = text.startsWith('*.') ? below : exact;
    const known = text.startsWith('*.') ? text.slice(2) : text;
    entries.set(known, [...(takesAll ? (entries.get(known) ?? []) : []), entry]);
  }

  function entriesFor(name: string): readonly Entry[] {
    const own = exact.get(name) ?? [];
    if (below.size === 0 || (own.length > 0 && !takesAll)) return own;
    const found = [...own];
    for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) {
      found.push(...(below.get(name.slice(dot + 1)) ?? []));
      if (found.length > 0 && !takesAll) break;
    }
    return found.sort((a, b) => a.index - b.index);
  }

  return {
    /** Returns the targets of the entries that fit a name (in lower case, without a trailing dot). */
    targets: (name: string): readonly string[] => entriesFor(name).map(({ to }) => to),
    /** Returns the first address of exactly this name, or null. */
    address: (name: string): string | null =>
      exact.get(name.toLowerCase())?.find(({ to }) => isAddress(to))?.to ?? null,
    /** Entries whose name or target is invalid, as they were written. */
    ignored,
  };
}

/** Returns a name for comparison: trimmed, without trailing dots, ASCII letters in lower case. */
export function plainName(text: string): string {
  return asciiLowerCase(withoutEnd(text.trim(), '.'));
}

function targetOf(answer: string): string {
  const text = answer.trim();
  return isAddress(text) ? canonicalAddress(text) : plainName(text);
}

/** Returns an address in its shortest form (RFC 5952). */
export function canonicalAddress(text: string): string {
  return isIP(text) === 6 ? new SocketAddress({ address: text, family: 'ipv6' }).address : text;
}
