import { valueFlag } from '../../settings/flags.js';
import { isJsonObject } from '../../wire/json/json.js';
import { LATER_EXPECTED, laterTimeOf } from '../later-time.js';
import { allKeys, keysCommand, keysNamed } from './keys-command.js';

interface Asked {
  readonly words: readonly string[];
  /** Milliseconds since the epoch; null where they are not given. */
  readonly graceUntil: number | null;
  readonly keepAddressUntil: number | null;
}

export const keysRotate = keysCommand<Asked>({
  name: 'keys rotate',
  flags: [valueFlag('grace', 'TIME'), valueFlag('keep-address', 'TIME')],
  help: `Usage: keyway keys rotate KEY [--grace TIME] [--keep-address TIME]

Gives a key a new secret and prints it: its name, limit and counters stay. A KEY is a key, or a
name that one key has alone.

  --grace TIME         Until then the old key goes on as "NAME (old)", and its bytes count onto the
                       new one: ${LATER_EXPECTED}. Default: it ends at once.
  --keep-address TIME  Until then the subscription address of the old key leads to the new one. Not
                       where the old one has leaked: whoever has it has the address, too.`,
  read(reading, { words }, { clock }) {
    if (words.length !== 1) reading.problems.push('expected keyway keys rotate KEY, and flags');
    return {
      words,
      graceUntil: laterTimeOf(reading, 'grace', clock),
      keepAddressUntil: laterTimeOf(reading, 'keep-address', clock),
    };
  },
  async work(server, { words, graceUntil, keepAddressUntil }, context, call) {
    if (call === null) throw new Error('expected no --target: a key is rotated by the Keyway that has its home');
    const [found] = keysNamed(await allKeys(server, context), words);
    if (found === undefined) throw new Error('there is no such key');
    context.progress.clear();
    const grace = graceUntil === null ? 0 : Math.max(0, Math.round((graceUntil - context.clock.now()) / 1000));
    const rotated = await call('POST', `/keys/${encodeURIComponent(found.accessKey)}/rotate`, {
      grace_seconds: grace,
      ...(keepAddressUntil === null ? {} : { keep_address_until: new Date(keepAddressUntil).toISOString() }),
    });
    if (isJsonObject(rotated)) context.output.line(String(rotated.access_key));
  },
});
