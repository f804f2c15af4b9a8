import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { markdownTable } from './markdown-table.js';
import { saidTexts, writtenTexts } from './said-texts.js';

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
  const texts = messageTexts(root);
  const tables = Object.entries(messageRows(root)).map(([name, { head, rows }]) => {
    const cells = Object.entries(rows).map(([message, remedy]) => [inWhole(message, texts), remedy]);
    return [name, markdownTable(['message', head], cells)] as const;
  });
  return Object.fromEntries(tables);
}

interface Texts {
  /** Those of the log, of failed starts and of contradictions. */
  readonly said: readonly string[];
  readonly written: readonly string[];
}

/** Returns the texts that messages may be, as tables show them. */
export function messageTexts(root: string): Texts {
  const shown = (texts: readonly string[]) => [...new Set(texts.map((text) => text.replace(/…+/g, '…').trim()))];
  return { said: shown(saidTexts(root).map(({ text }) => text)), written: shown(writtenTexts(root)) };
}

/** Completes each part of a message to the texts that it belongs to. */
function inWhole(message: string, texts: Texts): string {
  return message.replaceAll(/`([^`]+)`/g, (code, part: string) => {
    const whole = textsWith(part, texts).filter((text) => !text.includes('`'));
    return whole.length === 0 ? code : `\`${whole.join('`, `')}\``;
  });
}

/** The one of the texts that are said, else the text that a part is all of but for its values, else all that have it. */
function textsWith(part: string, { said, written }: Texts): readonly string[] {
  const [text, ...others] = said.filter((each) => each.includes(part));
  if (text !== undefined && others.length === 0) return [text];
  const alone = written.find((each) => each.replaceAll('…', '').trim() === part.trim());
  return alone === undefined ? written.filter((each) => each.includes(part)) : [alone];
}
