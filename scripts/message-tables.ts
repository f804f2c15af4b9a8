import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { markdownTable } from './markdown-table.js';
import { saidTexts } from './said-texts.js';

/** The rows of a table by their messages: whole texts or parts of them, as code in Markdown, which stand in the source. */
interface MessageTable {
  readonly head: string;
  readonly rows: Readonly<Record<string, string>>;
}

/** The tables of `scripts/messages.json`, which says of each message what to do; a clone stands in `root`. */
export function messageRows(root: string): Readonly<Record<string, MessageTable>> {
  return JSON.parse(readFileSync(join(root, 'scripts/messages.json'), 'utf8'));
}

/** The tables of messages of `docs/errors.md` by the names in their markers. */
export function messageTables(root: string): Readonly<Record<string, string>> {
  const said = [...new Set(saidTexts(root).map(({ text }) => text))];
  const tables = Object.entries(messageRows(root)).map(([name, { head, rows }]) => {
    const cells = Object.entries(rows).map(([message, remedy]) => [inWhole(message, said), remedy]);
    return [name, markdownTable(['message', head], cells)] as const;
  });
  return Object.fromEntries(tables);
}

/** Completes each part of a message that belongs to one text alone. */
function inWhole(message: string, said: readonly string[]): string {
  return message.replaceAll(/`([^`]+)`/g, (code, part: string) => {
    const [text, ...others] = said.filter((each) => each.includes(part));
    return text === undefined || others.length > 0 || text.includes('`') ? code : `\`${text}\``;
  });
}
