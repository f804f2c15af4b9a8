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
    row.push(quoted === undefined ? plain.trim() : quoted.replaceAll('""', '"'));
    if (end === comma) continue;
    if (row.some((value) => value !== '')) rows.push(row);
    row = [];
    if (end === '') break;
  }
  return rows;
}

/** One CSV field (RFC 4180); a leading `=`, `+`, `-` or `@` is kept from being taken for a formula. */
export function csvField(value: string): string {
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
