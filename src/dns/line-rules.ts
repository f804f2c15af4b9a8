import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { isAddress } from '../wire/dns-values.js';
import { withoutEnd } from '../wire/text-ends.js';
import type { ListRules, NameRules } from './list-rules.js';

/** The outcome of reading a line: it made rules, names nothing, or is not understood. */
export type LineOutcome = 'taken' | 'comment' | 'unsupported';

/** Reads a trimmed line of a list as the servers of a family of lines do. */
export type LineReader = (line: string, rules: ListRules) => LineOutcome;

/** Names of the machine itself in hosts files. */
const OWN_NAMES = new Set([
  'localhost',
  'localhost.localdomain',
  'local',
  'broadcasthost',
  'ip6-localhost',
  'ip6-loopback',
  '0.0.0.0',
]);

/** The most addresses that one list gives to a name: no answer has room for more. */
const MOST_ADDRESSES = 4_096;

/** Matches rules about elements of web pages. */
const COSMETIC = /##|#@#|#\?#|#\$#/;
const PATTERN = /^[a-z0-9._*-]+$/;

/**
 * Reads a line as servers from 0.4.6 on do: `||name^` and a plain name block the name and those below, `|name^` the
 * name alone, `*` matches any characters, `@@` begins an exception, `$important` overrides exceptions, and a hosts line
 * blocks exactly its names, or answers for them if its address leads somewhere. Names with one label, other modifiers
 * and `/…/` are not supported.
 */
export const readLineOfAnEngine: LineReader = (given, rules) => {
  if (/^[!#[]/.test(given) || COSMETIC.test(given)) return 'comment';
  const line = (given.split(' #', 1)[0] ?? '').trim();
  const [address = '', ...names] = line.split(/\s+/);
  if (isAddress(address)) return readHosts(address, names, rules);
  const isException = line.startsWith('@@');
  const body = isException ? line.slice(2) : line;
  const dollar = body.indexOf('$');
  const isImportant = dollar >= 0;
  if (isImportant && !/^\s*important\s*(?:,\s*important\s*)*$/.test(body.slice(dollar + 1))) return 'unsupported';
  const bare = withoutEnd(withoutBars(isImportant ? body.slice(0, dollar) : body), '^');
  const [bars = ''] = /^\|{0,2}/.exec(bare) ?? [];
  const kind = isException ? rules.excepted : isImportant ? rules.important : rules.blocked;
  return takePattern(asciiLowerCase(bare.slice(bars.length)), bars === '|', kind) ? 'taken' : 'unsupported';
};

/** Removes trailing bars from a rule that begins with a bar. */
function withoutBars(text: string): string {
  return text.startsWith('|') ? withoutEnd(text, '|') : text;
}

function takePattern(pattern: string, isExact: boolean, kind: NameRules): boolean {
  if (pattern.includes('*')) {
    if (PATTERN.test(pattern)) kind.wild.push({ pattern, isExact });
    return PATTERN.test(pattern);
  }
  if (!isDomain(pattern)) return false;
  (isExact ? kind.exact : kind.below).add(pattern);
  return true;
}

function readHosts(address: string, names: readonly string[], rules: ListRules): LineOutcome {
  const meant = names.map(asciiLowerCase).filter((name) => !OWN_NAMES.has(name));
  if (meant.length === 0) return 'comment';
  for (const name of meant) {
    if (!isDomain(name) && !name.endsWith('.ostp') && !name.endsWith('.lan')) continue;
    if (leadsNowhere(address)) rules.hosts.add(name);
    else takeAddress(address, name, rules);
  }
  return 'taken';
}

function takeAddress(address: string, name: string, { addresses }: ListRules): void {
  const known = addresses.get(name);
  if (known === undefined) addresses.set(name, [address]);
  else if (known.length < MOST_ADDRESSES) known.push(address);
}

/** Converts ASCII letters alone, because other scripts have letters whose lower case is ASCII. */
export function asciiLowerCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function isDomain(text: string): boolean {
  return /^(?=.{1,253}$)[a-z0-9_-][a-z0-9._-]*\.(?:[a-z0-9._-]*[a-z0-9_-])$/.test(text);
}

function leadsNowhere(address: string): boolean {
  return isIP(address) === 4 ? address === '0.0.0.0' || address.startsWith('127.') : /^[0:]*1?$/.test(address);
}

/** Labels of at most 63 characters, 253 in all. No domain's last label is a number: that is an IPv4 address. */
const NAME = /^(?=.{1,253}$)(?:[a-z0-9_-]{1,63}\.)*(?!\d+$)[a-z0-9_-]{1,63}$/;
/** Characters of a name in any script; more of them could be no name, and would take long to convert to ASCII. */
const ANY_SCRIPT = /^[\w.\u0080-\uffff-]{1,253}$/;

/** Addresses that hosts lists use for names that are to lead nowhere. */
const NOWHERE = new Set(['0.0.0.0', '127.0.0.1', '0', '::', '::0', '::1', '0:0:0:0:0:0:0:0', '0:0:0:0:0:0:0:1']);

/**
 * Reads a line as Keyway does for lines before 0.4.6: hosts lines, plain names and `||name^` all block a name and those
 * below, and `@@||name^` excepts it; names may be in any script (RFC 5891 by the URL standard's mapping).
 */
export const readOlderLine: LineReader = (line, rules) => {
  if (/^[!#[]/.test(line)) return 'comment';
  const isException = line.startsWith('@@');
  if (isException || line.startsWith('|')) {
    const [, name = ''] = /^(?:@@)?\|\|([^^$]*)\^?\|?(?:\$(?:important|all))?$/.exec(line) ?? [];
    return takeName(name, (isException ? rules.excepted : rules.blocked).below) ? 'taken' : 'unsupported';
  }
  const words = line.split(/[ \t]+/);
  const comment = words.findIndex((word, index) => index > 0 && word.startsWith('#'));
  const [first = '', ...names] = comment < 0 ? words : words.slice(0, comment);
  const meant = names.length === 0 ? [first] : NOWHERE.has(first) ? names : [];
  // In a list of words, a single word must not block a whole domain.
  const taken = meant.filter((name) => name.includes('.') && takeName(name, rules.blocked.below));
  return taken.length > 0 ? 'taken' : 'unsupported';
};

function takeName(text: string, names: Set<string>): boolean {
  const name = nameIn(text);
  if (name === null || name.startsWith('localhost.localdomain')) return false;
  names.add(name);
  return true;
}

/** Returns the name in lower-case ASCII, without a leading `*.` and a trailing dot; null if the text is not a name. */
function nameIn(text: string): string | null {
  const lower = text.replace(/^\*\./, '').toLowerCase();
  const name = lower.replace(/\.$/, '');
  if (NAME.test(name)) return name;
  // The conversion would drop what follows a `/` or a `#`.
  const ascii = ANY_SCRIPT.test(lower) ? domainToASCII(lower).replace(/\.$/, '') : '';
  return NAME.test(ascii) ? ascii : null;
}
