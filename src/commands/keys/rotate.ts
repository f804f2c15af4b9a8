import { isJsonObject, type JsonValue } from '../../wire/json/json.js';
import { UnsavedError } from '../own-call.js';
import { allKeys, keysCommand, keysNamed, namedBy } from './keys-command.js';

export const keysRotate = keysCommand<readonly string[]>({
  name: 'keys rotate',
  flags: [],
  help: `Usage: keyway keys rotate KEY

Gives a key a new secret and prints it: its name, limit and counters stay, and the old one ends at
once. In front of a running server the counters begin at zero, and the limit is what was left.
A KEY is a key, or a name that one key has alone.`,
  read(reading, { words }) {
    if (words.length !== 1) reading.problems.push('expected keyway keys rotate KEY');
    return words;
  },
  keys: namedBy,
  async work(server, words, context, { own: call }) {
    if (call === null) throw new Error('expected no --target: a key is rotated by the Keyway that has its home');
    const [found] = keysNamed(await allKeys(server, context), words);
    if (found === undefined) throw new Error('there is no such key');
    context.progress.clear();
    const show = (rotated: JsonValue) => {
      const made = isJsonObject(rotated) ? String(rotated.access_key) : '';
      context.output.line(made);
      return made;
    };
    const rotated = call('POST', `/keys/${encodeURIComponent(found.accessKey)}/rotate`, {});
    await rotated.then(show, (error: unknown) => {
      throw error instanceof UnsavedError ? new Error(`Made ${show(error.data)}, ${error.message}`) : error;
    });
  },
});
