import { REVISIONS } from '../../../revisions/all.js';
import type { FlagShape, Offered } from '../../settings/flags.js';
import type { ListedCommand } from '../command.js';

/** What a shell offers at one place of a command line. */
export type Offer = { readonly kind: 'paths' } | { readonly kind: 'values'; readonly values: readonly string[] };

/** A flag as shells complete it. */
export interface OfferedFlag {
  /** With its dashes. */
  readonly text: string;
  readonly takesValue: boolean;
  /** Of its value; null offers nothing. */
  readonly offer: Offer | null;
}

/** A command line as shells complete it. */
export interface OfferedCommand {
  /** One word or two. */
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly OfferedFlag[];
  /** Of its words; null offers nothing. */
  readonly words: Offer | null;
}

const HELP: OfferedFlag = { text: '--help', takesValue: false, offer: null };

/** All command lines, from the table of commands. */
export async function offeredCommands(commands: readonly ListedCommand[]): Promise<readonly OfferedCommand[]> {
  return Promise.all(
    commands.map(async ({ name, summary, load }) => {
      const { flags, words } = await load();
      return { name, summary, flags: [...flags.map(offeredFlag), HELP], words: offerOf(words) };
    }),
  );
}

function offeredFlag({ flag, placeholder, offered }: FlagShape): OfferedFlag {
  return { text: `--${flag}`, takesValue: placeholder !== null, offer: offerOf(offered) };
}

function offerOf(offered: Offered | undefined): Offer | null {
  if (offered === undefined) return null;
  if (offered === 'paths') return { kind: 'paths' };
  return { kind: 'values', values: offered === 'revisions' ? REVISIONS.map(({ id }) => id) : offered };
}

/** The first words of the commands that have two, such as `config`. */
export function familiesOf(commands: readonly OfferedCommand[]): readonly string[] {
  const heads = commands.flatMap(({ name }) => (name.includes(' ') ? [name.slice(0, name.indexOf(' '))] : []));
  return [...new Set(heads)];
}
