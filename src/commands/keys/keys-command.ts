import type { UpstreamServer } from '../../client/server.js';
import { type DomainError, inMemoryWords, isInMemory } from '../../core/errors.js';
import { isDigestOf } from '../../core/key-digest.js';
import type { AskedKeys } from '../../core/keys/types.js';
import type { KeySnapshot } from '../../core/model.js';
import {
  type FlagReading,
  type FlagShape,
  type ParsedFlags,
  readFlags,
  switchFlag,
  valueFlag,
} from '../../settings/flags.js';
import { wrap } from '../../settings/text.js';
import { suggest } from '../../wire/suggest.js';
import { type Command, type CommandContext, wordsOf } from '../command.js';
import { defineCommand } from '../define-command.js';
import { baseUrlOf, CA_FLAG, credentialsOf, revisionOf, trustedBy } from '../replay/settings.js';
import { type KeyHome, type KeyPlace, openState, openTarget, type TargetPlace } from './home.js';
import { MadeChanges } from './made-changes.js';
import { printableKey } from './printable.js';

export interface KeysCommand<Asked> {
  readonly name: string;
  /** Flags besides those of the place and `--json`. */
  readonly flags: readonly FlagShape[];
  /** The help text above what all of them share. */
  readonly help: string;
  /** Returns the request; problems go to the reading. */
  read(reading: FlagReading, flags: ParsedFlags, context: CommandContext): Asked;
  /** Returns the only keys that it works on; null, or absent, for all. */
  readonly keys?: (asked: Asked) => AskedKeys | null;
  work(server: UpstreamServer, asked: Asked, context: CommandContext, place: KeyPlace): Promise<void>;
}

const TARGET_FLAGS: readonly FlagShape[] = [
  valueFlag('target', 'URL'),
  valueFlag('revision', 'R', 'revisions'),
  valueFlag('username', 'NAME'),
  CA_FLAG,
];

const CREDENTIALS = { username: 'KEYWAY_USERNAME', password: 'KEYWAY_PASSWORD', token: 'KEYWAY_TOKEN' };

/** The flags of commands that change keys, and what their help says of them. */
export const CHANGING: readonly FlagShape[] = [switchFlag('dry-run'), switchFlag('no-wait')];
export const NO_WAIT_HELP = `  --no-wait        Does not check 7 s later whether the server behind --target has kept it.`;

/** Makes it a command with the flags, the help and the opening of a place that all of them have. */
export function keysCommand<Asked>(command: KeysCommand<Asked>): Command {
  return defineCommand<{ readonly target: TargetPlace | null; readonly isDone: boolean; readonly own: Asked }, KeyHome>(
    {
      name: command.name,
      settings: ['config', 'dataDir', 'inPlace', 'serverVersion', 'database'],
      flags: [...TARGET_FLAGS, ...command.flags],
      fixed: () => ({ noMigrate: true }),
      help: (settings) => `${command.help}

Where the keys are:
${settings}
  --target URL     A running server instead, with its web path when it has one. Its token comes from
                   KEYWAY_TOKEN, or its password from KEYWAY_PASSWORD.
  --revision R     The line that the target speaks. Default: what its version says.
  --username NAME  The operator to sign in as (KEYWAY_USERNAME). That may sign out whoever is signed in.
  --ca FILE        Certificates in PEM that are trusted of the target instead of the system's.

A file that a Keyway serves is changed through that Keyway, any other is opened by itself.`,
      ask: (reading, flags, { context }) => ({
        target: targetOf(reading, context),
        isDone: reading.isOn('no-wait'),
        own: command.read(reading, flags, context),
      }),
      home: async ({ home }, { target, own }, { context, sources }) =>
        target === null
          ? openState(home, context, command.keys?.(own) ?? null)
          : openTarget({ ...target, ...(await trustedBy(readFlags(sources.flags).value('ca'), context)) }, context),
      async work(home, { target, isDone, own }, context) {
        if (target === null) await command.work(home.server, own, context, home);
        else await workOnTarget(command, home, own, isDone, context);
      },
      close: (home) => home.close(),
      failure: (error) => wordsForTarget(wordsOf(error)),
    },
  );
}

/** Does `command.work`; says of changes that do not last, and looks whether the server has kept them. */
async function workOnTarget<Asked>(
  command: KeysCommand<Asked>,
  home: KeyHome,
  asked: Asked,
  isDone: boolean,
  context: CommandContext,
): Promise<void> {
  const changes = new MadeChanges(home.server);
  try {
    await command.work(changes.server, asked, context, home);
  } finally {
    context.progress.clear();
    const warning = changes.warning();
    if (warning !== null) for (const line of wrap(warning, 100)) context.complain(line);
  }
  if (!isDone && changes.warning() !== null) await changes.settle(context);
}

function targetOf(reading: FlagReading, context: CommandContext): TargetPlace | null {
  const url = baseUrlOf(reading, 'target');
  if (reading.value('target') === null) {
    for (const flag of ['revision', 'username', 'ca'])
      if (reading.value(flag) !== null) reading.problems.push(`--${flag}: expected --target with it`);
    return null;
  }
  if (reading.value('config') !== null) reading.problems.push('--target: expected either this or --config, not both');
  const revision = revisionOf(reading, 'revision');
  const credentials = credentialsOf(reading, context, CREDENTIALS);
  return url === null ? null : { ...url, revision, credentials };
}

/** A call names the flags with which Keyway stands in front of a server. */
function wordsForTarget(words: string): string {
  return words
    .replaceAll('--upstream-ca', '--ca')
    .replaceAll('--upstream-token', 'KEYWAY_TOKEN')
    .replaceAll('--upstream-username', '--username')
    .replaceAll('--upstream-password', 'KEYWAY_PASSWORD');
}

/** The keys that words name, as `keysNamed` reads them. */
export const namedBy = (words: readonly string[]): AskedKeys => ({ words, mayBegin: false, elseAll: true });

/** All keys, with how far the list has come. */
export async function allKeys(server: UpstreamServer, { progress }: CommandContext): Promise<readonly KeySnapshot[]> {
  const onProgress = (bytes: number) => progress.show(`reading keys: ${(bytes / 1e6).toFixed(1)} MB`);
  const { value } = await server.listUsers({ onProgress });
  return value;
}

/**
 * The keys that words stand for, each once: the key itself, else the one whose name that is. Throws an `Error` for people that
 * names every word which stands for none, or for several.
 */
export function keysNamed(keys: readonly KeySnapshot[], words: readonly string[]): readonly KeySnapshot[] {
  const found = words.map((word) => {
    const exact = keys.find(({ accessKey }) => accessKey === word);
    const candidates = exact === undefined ? keys.filter(({ name }) => name === word) : [exact];
    return { word, candidates };
  });
  refuseUnclear(found, keys);
  return [...new Set(found.flatMap(({ candidates }) => candidates))];
}

/** The key of this digest, if one is given. Throws as `keysNamed` does. */
export function keysOfDigest(keys: readonly KeySnapshot[], digest: string | null): readonly KeySnapshot[] {
  if (digest === null) return [];
  const candidates = keys.filter(({ accessKey }) => isDigestOf(digest, accessKey));
  refuseUnclear([{ word: digest, candidates }], []);
  return candidates;
}

/** One word and the keys that it may stand for. */
export interface NamedKeys {
  readonly word: string;
  readonly candidates: readonly KeySnapshot[];
}

/** Throws unless every word stands for one key; the nearest of the present ones is named. */
export function refuseUnclear(found: readonly NamedKeys[], present: readonly KeySnapshot[]): void {
  const problems = found.flatMap(({ word, candidates }) => {
    const shown = JSON.stringify(word);
    if (candidates.length === 0) return [`there is no key ${shown}, and none with that name${nearest(word, present)}`];
    return candidates.length === 1
      ? []
      : [`${shown} stands for ${candidates.length} keys: name one by its key, which "keyway keys list" shows`];
  });
  if (problems.length > 0) throw new Error(problems.join('; '));
}

function nearest(word: string, keys: readonly KeySnapshot[]): string {
  const known = keys.flatMap(({ accessKey, name }) => (name === null ? [accessKey] : [accessKey, name]));
  const longer = word === '' ? undefined : known.find((each) => each.toLowerCase().startsWith(word.toLowerCase()));
  const meant = longer ?? suggest(word, known);
  return meant === undefined ? '' : ` (did you mean ${JSON.stringify(meant)}?)`;
}

/** The words of a change of keys, and the key that an item is about. */
interface Changing<Item> {
  /** `adding keys`. */
  readonly doing: string;
  /** `Made`. */
  readonly done: string;
  readonly keyOf: (item: Item) => string;
  /** Called after each change that was made, be it in memory alone. */
  readonly made?: (item: Item) => void;
}

/**
 * Changes one after the other, with progress; the first signal stops between two of them. Rejects with what was done until then,
 * and in the end with what is in memory alone.
 */
export async function inTurn<Item>(
  items: readonly Item[],
  context: CommandContext,
  { doing, done: doneWord, keyOf, made }: Changing<Item>,
  change: (item: Item) => Promise<unknown>,
): Promise<void> {
  const inMemory: { readonly key: string; readonly error: DomainError }[] = [];
  let signal: string | null = null;
  if (items.length > 1)
    void context.untilStopped().then((name) => {
      signal = name;
    });
  for (const [done, item] of items.entries()) {
    const sofar = `${done} of ${items.length} done`;
    if (signal !== null) throw new Error(`stopped: ${sofar}`);
    if (items.length > 1) context.progress.show(`${doing}, ${done + 1} of ${items.length}`, done / items.length);
    try {
      await change(item);
    } catch (error) {
      if (!isInMemory(error))
        throw new Error(items.length === 1 ? wordsOf(error) : `${wordsOf(error)}; ${sofar}`, { cause: error });
      inMemory.push({ key: keyOf(item), error });
    }
    made?.(item);
  }
  context.progress.clear();
  const [first] = inMemory;
  if (first === undefined) return;
  const keys = inMemory.length === 1 ? printableKey(first.key) : `${inMemory.length} keys`;
  throw new Error(`${doneWord} ${keys}, ${inMemoryWords(first.error)}`);
}
