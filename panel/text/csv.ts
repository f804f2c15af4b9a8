/** Rows of a CSV text (RFC 4180), parted by commas, or by semicolons or tabs where its first line has more of those. */
export function parseCsv(text: string): readonly (readonly string[])[] {
  const source = text.replace(/^\ufeff/, '');
  const head = source.split(/\r?\n/, 1)[0] ?? '';
  const times = (sign: string) => head.split(sign).length;
  const comma = [',', ';', '\t'].reduce((best, sign) => (times(sign) > times(best) ? sign : best));
  const rows: string[][] = [];
  let row: string[] = [];
  const field = new RegExp(`(?:"((?:[^"]|"")*)"|([^${comma}\\r\\n]*))(${comma}|\\r?\\n|\\r|$)`, 'gy');
  for (let match = field.exec(source); match !== null; match = field.exec(source)) {
    const [, quoted, plain = '', end = ''] = match;
    const value = quoted === undefined ? plain.trim() : quoted.replaceAll('""', '"');
    row.push(unescaped(value.replace(FORMULA, '$1')));
    if (end === comma) continue;
    if (row.some((value) => value !== '')) rows.push(row);
    row = [];
    if (end === '') break;
  }
  return rows;
}

/**
 * Matches where a spreadsheet takes what follows for a formula; one that parts fields by semicolons does so behind each of them, too. An
 * apostrophe before it says that it is none.
 */
const FORMULA = /(^|;)('?)(?=["']*[=+\-@])/g;

/** One CSV field (RFC 4180), without control characters, and without anything that is taken for a formula. */
export function csvField(value: string): string {
  const safe = escaped(value).replace(FORMULA, "$1'$2");
  return /[",\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Control characters, which a terminal may act on, as `\\u` and four digits; backslashes that would read as such are doubled. */
function escaped(value: string): string {
  return value
    .replace(/\\+(?=u[\da-f]{4}|\p{Cc})/gu, (backslashes) => backslashes + backslashes)
    .replace(/\p{Cc}/gu, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The value that `escaped` gave this text for; other texts stay as they are. */
function unescaped(text: string): string {
  return text.replace(/(\\+)u([\da-f]{4})/g, (whole, { length }: string, digits: string) => {
    const kept = '\\'.repeat(Math.floor(length / 2));
    if (length % 2 === 0) return `${kept}u${digits}`;
    const character = String.fromCharCode(Number.parseInt(digits, 16));
    return /\p{Cc}/u.test(character) ? kept + character : whole;
  });
}
