/** One line of a help text's list: a term on the left, its meaning on the right. */
export interface HelpEntry {
  readonly term: string;
  readonly meaning: string;
}

const WIDTH = 100;
const INDENT = '  ';

/**
 * Formats entries in two columns, the right one wrapped at 100 columns; the left one as wide as its longest term, or as
 * given.
 */
export function helpList(
  entries: readonly HelpEntry[],
  width = Math.min(30, Math.max(...entries.map(({ term }) => term.length))),
): string {
  const column = width + INDENT.length + 2;
  return entries
    .map(({ term, meaning }) => {
      const [first = '', ...others] = wrap(meaning, WIDTH - column);
      const left = `${INDENT}${term}`;
      const start = left.length + 1 < column ? left.padEnd(column) + first : `${left}\n${' '.repeat(column)}${first}`;
      return [start, ...others.map((line) => ' '.repeat(column) + line)].join('\n');
    })
    .join('\n');
}

/** Breaks a text into lines of at most `width` characters, as far as its words allow. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

/** Writes a word for a POSIX shell, in quotes if necessary. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
