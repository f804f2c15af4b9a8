/** A record of a CSV text. */
export interface CsvRecord {
  /** The line on which it begins, from 1. */
  readonly line: number;
  readonly fields: readonly string[];
}

/** The content of a CSV text. */
export interface CsvTable {
  readonly records: readonly CsvRecord[];
  /** The line of a quotation mark that stands where it may not or is never closed, at which reading ended; null without one. */
  readonly brokenAt: number | null;
}

/**
 * Reads a CSV text (RFC 4180), its fields parted by what a first line `sep=;` names, else by commas, or by semicolons or tabs where its
 * first line has more of those. Empty lines and blanks around unquoted fields are left out; `csvField` is undone.
 */
export function readCsv(text: string): CsvTable {
  const source = text.replace(/^\ufeff/, '');
  const [named = '', given] = /^sep=(.).*(\r?\n|\r|$)/i.exec(source) ?? [];
  const separator = given ?? separatorOf(source);
  const own = separator.replace(/[\\\]^$.*+?()[{}|-]/, '\\$&');
  const plain = new RegExp(`( *(?:[^"${own}\\r\\n ][^${own}\\r\\n]*)?)(${own}|\\r?\\n|\\r|$)`, 'y');
  const records: CsvRecord[] = [];
  let fields: string[] = [];
  let line = named === '' ? 1 : 2;
  let begun = line;
  for (let at = named.length; at < source.length || fields.length > 0; at = plain.lastIndex) {
    const behind = behindQuoted(source, at);
    plain.lastIndex = behind;
    const [, text = '', end] = plain.exec(source) ?? [];
    if (end === undefined || (behind > at && text !== '')) return { records, brokenAt: line };
    const value = behind > at ? source.slice(at + 1, behind - 1).replaceAll('""', '"') : text.trim();
    fields.push(unescaped(value.replace(FORMULA, '$1')));
    line += source.slice(at, plain.lastIndex).split(/\r?\n|\r/).length - 1;
    if (end === separator) continue;
    if (fields.some((each) => each !== '')) records.push({ line: begun, fields });
    fields = [];
    begun = line;
  }
  return { records, brokenAt: null };
}

/**
 * The place behind the quotation mark that closes the one at `from`; `from` where none is there, and behind the text where none closes
 * it. A regular expression would run out of its stack with millions of doubled ones.
 */
function behindQuoted(text: string, from: number): number {
  let at = from;
  while (text[at] === '"') at = text.indexOf('"', at + 1) + 1 || text.length + 1;
  return at;
}

/** A comma, or of a semicolon and a tab what its first line has more of, as spreadsheets of other countries write it. */
function separatorOf(text: string): string {
  const head = /[^\r\n]+/.exec(text)?.[0] ?? '';
  const times = (sign: string) => head.split(sign).length;
  return [',', ';', '\t'].reduce((best, sign) => (times(sign) > times(best) ? sign : best));
}

/**
 * Matches where a spreadsheet takes what follows for a formula; one that parts fields by semicolons does so behind each of them, too. An
 * apostrophe before it says that it is text.
 */
const FORMULA = /(^|;)('?)(?=["']*[-=+@])/g;

/** One CSV field (RFC 4180), without control characters, and without anything that is taken for a formula. */
export function csvField(value: string): string {
  const safe = escaped(value).replace(FORMULA, "$1'$2");
  return /[",\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Control characters, which a terminal may act on, as `\\u` and four digits; backslashes that would read as such are doubled. */
function escaped(value: string): string {
  return value
    .replace(/(\\+)(u[\da-f]{4}|\p{Cc})?/gu, (whole, backslashes: string, behind?: string) =>
      behind === undefined ? whole : backslashes + whole,
    )
    .replace(/\p{Cc}/gu, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The value that `escaped` gave this text for; other texts stay as they are. */
function unescaped(text: string): string {
  return text.replace(/(\\+)(?:u([\da-f]{4}))?/g, (whole, { length }: string, digits?: string) => {
    if (digits === undefined) return whole;
    const kept = '\\'.repeat(Math.floor(length / 2));
    if (length % 2 === 0) return `${kept}u${digits}`;
    const character = String.fromCharCode(Number.parseInt(digits, 16));
    return /\p{Cc}/u.test(character) ? kept + character : whole;
  });
}
