import type { UpstreamServer } from '../../client/server.js';
import { changedRecord, recordOf } from '../../core/keys/key-record.js';
import type { AccessKey } from '../../core/model.js';
import type { RandomPort } from '../../core/ports.js';
import { deleteEmptyKey } from '../../homes/upstream/empty-key.js';
import { type FlagReading, isOn, valueFlag } from '../../settings/flags.js';
import type { Command, CommandContext } from '../command.js';
import {
  allKeys,
  CHANGING,
  inTurn,
  keysCommand,
  keysNamed,
  keysOfDigest,
  NO_WAIT_HELP,
  namedBy,
} from './keys-command.js';
import { changeKey, type GivenFields } from './made-changes.js';
import { printable, printableKey } from './printable.js';
import { LIMIT_EXPECTED, readLimit, sizeText } from './sizes.js';

/** Random bytes of a new key, written in hexadecimal as servers make them. */
const KEY_BYTES = 16;

export function newKey(random: RandomPort): string {
  return random.bytes(KEY_BYTES).toString('hex');
}

/** Writes a key for people, in one line. */
export function keyLine({ accessKey, name, limitBytes }: AccessKey): string {
  const named = name === null ? '' : `  ${printable(name)}`;
  return `${printableKey(accessKey)}${named}  ${limitBytes === null ? 'no limit' : sizeText(limitBytes)}`;
}

const keyOf = ({ accessKey }: AccessKey): string => accessKey;

function limitOf(reading: FlagReading): bigint | null | undefined {
  const text = reading.value('limit');
  if (text === null) return undefined;
  const limit = readLimit(text);
  if (limit === undefined) reading.problems.push(`--limit: expected ${LIMIT_EXPECTED}`);
  return limit;
}

interface Adding {
  readonly name: string;
  readonly accessKey: string | null;
  readonly limitBytes: bigint | null;
  readonly count: number;
  readonly dryRun: boolean;
}

async function add(server: UpstreamServer, asked: Adding, context: CommandContext): Promise<void> {
  const { name, limitBytes, count, dryRun } = asked;
  if (asked.accessKey !== null && (await server.getUser(asked.accessKey)).value !== undefined)
    throw new Error(`there is a key ${JSON.stringify(asked.accessKey)} already: "keyway keys set" changes it`);
  const keys = Array.from({ length: count }, (_, index) =>
    recordOf(asked.accessKey ?? newKey(context.random), {
      name: count === 1 ? name : `${name} ${index + 1}`,
      limitBytes,
    }),
  );
  if (dryRun) {
    for (const key of keys)
      context.output.line(
        `would add ${asked.accessKey === null ? keyLine({ ...key, accessKey: 'a new key' }) : keyLine(key)}`,
      );
    return;
  }
  const made = ({ accessKey }: AccessKey) => context.output.line(accessKey);
  await inTurn(keys, context, { doing: 'adding keys', done: 'Made', keyOf, made }, (key) => server.createUser(key));
  const same = count > 1 ? [] : (await allKeys(server, context)).filter((key) => key.name === name);
  if (same.length > 1)
    context.complain(`${same.length} keys are named ${printable(name)} now: commands tell them apart by the key`);
}

export const keysAdd = keysCommand<Adding>({
  name: 'keys add',
  flags: [valueFlag('key', 'K'), valueFlag('limit', 'SIZE'), valueFlag('count', 'N'), ...CHANGING],
  help: `Usage: keyway keys add NAME [--key K] [--limit SIZE] [--count N] [--dry-run]

Adds a key of this name and prints it.

  --key K          The key itself. Default: a new one, of 128 random bits.
  --limit SIZE     ${LIMIT_EXPECTED}. Default: none.
  --count N        So many keys, named NAME 1, NAME 2 and so on.
  --dry-run        Says what would be added, and changes nothing.
${NO_WAIT_HELP}`,
  read(reading, flags) {
    const [name = ''] = flags.words;
    const count = reading.value('count') ?? '1';
    if (flags.words.length !== 1 || name === '') reading.problems.push('expected keyway keys add NAME, and flags');
    if (!/^[1-9]\d{0,5}$/.test(count)) reading.problems.push('--count: expected a whole number from 1 to 999999');
    if (reading.value('key') === '') reading.problems.push('--key: expected a key that is not empty');
    if (reading.value('key') !== null && count !== '1')
      reading.problems.push('--count: expected 1 where --key is given');
    return {
      name,
      accessKey: reading.value('key'),
      limitBytes: limitOf(reading) ?? null,
      count: Number(count),
      dryRun: isOn(flags, 'dry-run'),
    };
  },
  keys: ({ name, accessKey }) => ({ ...namedBy([name, ...(accessKey === null ? [] : [accessKey])]), elseAll: false }),
  work: add,
});

interface Setting {
  readonly words: readonly string[];
  readonly given: GivenFields;
  readonly dryRun: boolean;
}

async function set(server: UpstreamServer, asked: Setting, context: CommandContext): Promise<void> {
  const { given, dryRun } = asked;
  const keys = keysNamed(await allKeys(server, context), asked.words);
  if (!dryRun)
    await inTurn(keys, context, { doing: 'changing keys', done: 'Set', keyOf }, (key) => changeKey(server, key, given));
  for (const key of keys) context.output.line(`${dryRun ? 'would set' : 'Set'} ${keyLine(changedRecord(key, given))}`);
}

export const keysSet = keysCommand<Setting>({
  name: 'keys set',
  flags: [valueFlag('name', 'NAME'), valueFlag('limit', 'SIZE'), ...CHANGING],
  help: `Usage: keyway keys set KEY… [--name NAME] [--limit SIZE] [--dry-run]

Gives keys another name or limit; what is not given stays. A KEY is a key, or a name that one key
has alone.

  --name NAME      The name; empty for none.
  --limit SIZE     ${LIMIT_EXPECTED}.
  --dry-run        Says what would change, and changes nothing.
${NO_WAIT_HELP}`,
  read(reading, flags) {
    const name = reading.value('name');
    const limitBytes = limitOf(reading);
    if (flags.words.length === 0) reading.problems.push('expected keyway keys set KEY…, and flags');
    if (name === null && reading.value('limit') === null) reading.problems.push('expected --name or --limit');
    return {
      words: flags.words,
      given: {
        ...(name === null ? {} : { name: name === '' ? null : name }),
        ...(limitBytes === undefined ? {} : { limitBytes }),
      },
      dryRun: isOn(flags, 'dry-run'),
    };
  },
  keys: ({ words }) => namedBy(words),
  work: set,
});

interface Named {
  readonly words: readonly string[];
  /** The digest of a key that no word can name. */
  readonly digest: string | null;
  readonly dryRun: boolean;
}

/** A command that does one thing to each key that is named. */
function toEach(what: {
  readonly word: 'remove' | 'reset';
  readonly done: string;
  readonly doing: string;
  readonly help: string;
  readonly change: (server: UpstreamServer, accessKey: string) => Promise<unknown>;
}): Command {
  return keysCommand<Named>({
    name: `keys ${what.word}`,
    flags: [valueFlag('digest', 'DIGEST'), ...CHANGING],
    help: `Usage: keyway keys ${what.word} KEY… [--digest DIGEST] [--dry-run]

${what.help} A KEY is a key, or a name that one key has alone.

  --digest DIGEST  The key that logs and "keyway keys list" show so: one that is empty or
                   cannot be typed.
  --dry-run        Says which keys those are, and changes nothing.
${NO_WAIT_HELP}`,
    read(reading, flags) {
      const digest = reading.value('digest');
      if (flags.words.length === 0 && digest === null)
        reading.problems.push(`expected keyway keys ${what.word} KEY…, and flags`);
      return { words: flags.words, digest, dryRun: isOn(flags, 'dry-run') };
    },
    // The empty key is removed with all others compared before and after.
    keys: ({ words, digest }) => (digest === null && !words.includes('') ? namedBy(words) : null),
    async work(server, { words, digest, dryRun }, context) {
      const present = await allKeys(server, context);
      const keys = [...new Set([...keysNamed(present, words), ...keysOfDigest(present, digest)])];
      if (!dryRun) await inTurn(keys, context, { ...what, keyOf }, ({ accessKey }) => what.change(server, accessKey));
      for (const key of keys) context.output.line(`${dryRun ? `would ${what.word}` : what.done} ${keyLine(key)}`);
    },
  });
}

export const keysRemove = toEach({
  word: 'remove',
  done: 'Removed',
  doing: 'removing keys',
  help: 'Removes keys, with their counters.',
  change: (server, accessKey) => (accessKey === '' ? deleteEmptyKey(server) : server.deleteUser(accessKey)),
});

export const keysReset = toEach({
  word: 'reset',
  done: 'Reset',
  doing: 'resetting keys',
  help: 'Sets the traffic of keys to zero; their limits stay.',
  change: (server, accessKey) => server.resetUser(accessKey),
});
