/** Words that systemd.syntax(7) takes as they are, in command lines and in lists of paths. */
const PLAIN = /^[\w@:/.,=+-]+$/;

const ESCAPES: Readonly<Record<string, string>> = { '"': '\\"', '\\': '\\\\', '%': '%%' };

/** One word of a list such as that of `ReadWritePaths=`: quoted where it must be, `%` doubled. It has no control characters. */
export function listWord(text: string): string {
  return PLAIN.test(text) ? text : `"${text.replaceAll(/["\\%]/g, (character) => ESCAPES[character] ?? character)}"`;
}

/** One word of a command line (systemd.service(5), "Command lines"): as in a list, and `$` doubled, which would be a variable. */
export function commandWord(text: string): string {
  return listWord(text).replaceAll('$', '$$$$');
}

/** The program of a command line, in which no variable is looked for. */
export const programWord = listWord;
