import { REVISIONS } from '../../../revisions/all.js';
import type { FlagShape, Offered } from '../../settings/flags.js';
import type { Command, ListedCommand, World } from '../command.js';

/** Word by which the scripts of `keyway completion` ask; no command is listed under it. */
export const COMPLETE = '__complete';

/** Line that stands for the paths of the file system, which the shell lists itself. */
const PATHS = ':paths';

/**
 * Prints the words that may stand where the last one of `line` is, a line each, followed by a tab and a summary where there is one,
 * or `:paths`. Shells differ in `--flag=value`: bash parts it into three words, others complete it as one.
 */
export async function complete(line: readonly string[], commands: readonly ListedCommand[], world: World): Promise<0> {
  for (const offer of await offersFor(line, commands)) world.output.line(offer);
  return 0;
}

async function offersFor(line: readonly string[], commands: readonly ListedCommand[]): Promise<readonly string[]> {
  const isHelp = line[0] === 'help' && line.length > 1;
  const before = line.slice(isHelp ? 1 : 0, -1);
  const typed = line.at(-1) ?? '';
  const listed = commands.find(({ name }) => name.split(' ').every((word, index) => before[index] === word));
  if (listed === undefined) return nameOffers(before, typed, commands, isHelp);
  return isHelp ? [] : argumentOffers(await listed.load(), before, typed);
}

/** The next words of the commands that begin as the line does. */
function nameOffers(
  before: readonly string[],
  typed: string,
  commands: readonly ListedCommand[],
  isHelp: boolean,
): readonly string[] {
  const names = commands.flatMap(({ name, summary }) => {
    const words = name.split(' ');
    const word = words[before.length];
    if (word === undefined || before.some((given, index) => given !== words[index])) return [];
    return [{ word, summary: words.length > before.length + 1 ? `commands: ${word} …` : summary }];
  });
  const others =
    isHelp || before.length > 0 ? [] : ['help', '--help', '--version'].map((word) => ({ word, summary: '' }));
  const offers = [...names, ...others].filter(({ word }) => word.startsWith(typed));
  return [...new Map(offers.map(({ word, summary }) => [word, summary]))].map(([word, summary]) =>
    summary === '' ? word : `${word}\t${summary}`,
  );
}

function argumentOffers({ flags, words }: Command, before: readonly string[], typed: string): readonly string[] {
  const valuedFlag = (text: string | undefined): FlagShape | undefined =>
    flags.find(({ flag, placeholder }) => placeholder !== null && text === `--${flag}`);
  const joined = /^(--[^=]+)=(.*)$/.exec(typed);
  if (joined !== null) return offersOf(valuedFlag(joined[1])?.offered, joined[2] ?? '', `${joined[1]}=`);
  const apart =
    typed === '=' ? valuedFlag(before.at(-1)) : before.at(-1) === '=' ? valuedFlag(before.at(-2)) : undefined;
  if (apart !== undefined) return offersOf(apart.offered, typed === '=' ? '' : typed, '');
  const valued = valuedFlag(before.at(-1));
  if (valued !== undefined) return offersOf(valued.offered, typed, '');
  if (typed.startsWith('-')) return offersOf([...flags.map(({ flag }) => `--${flag}`), '--help'], typed, '');
  return offersOf(words, typed, '');
}

function offersOf(offered: Offered | undefined, typed: string, prefix: string): readonly string[] {
  if (offered === undefined) return [];
  if (offered === 'paths') return [PATHS];
  const values = offered === 'revisions' ? REVISIONS.map(({ id }) => id) : offered;
  return values.filter((value) => value.startsWith(typed)).map((value) => prefix + value);
}
