import { dirname } from 'node:path';
import type { Static } from 'typebox';
import { Faults } from '../../core/faults.js';
import { FILE_LIMITS } from '../../core/file-limits.js';
import { createMemoryFiles } from '../../platform/memory-files.js';
import type { HomePlaceOf } from '../../settings/home.js';
import { parseJsonc } from '../../settings/jsonc.js';
import { isJsonObject, JsonSyntaxError, type JsonValue } from '../../wire/json/json.js';
import { encodeJson, writeJson } from '../../wire/json/write-json.js';
import { checked, SchemaError } from '../../wire/schema-check.js';
import { object, text, u64 } from '../../wire/schemas.js';
import { didYouMean } from '../../wire/suggest.js';
import { Type } from '../../wire/typebox.js';
import type { ComposeOptions, TestState } from '../options.js';
import type { Home } from './home.js';
import { openLocal } from './local.js';

/** The counters of a test's key. */
const COUNTERS = Type.Array(
  object({
    access_key: text('The key.'),
    bytes_up: u64('Bytes.'),
    bytes_down: u64('Bytes.'),
    connections: u64('Now.'),
  }),
  { expected: 'an array' },
);

interface ReadState {
  /** The text of a server's configuration file; null without a configuration. */
  readonly text: string | null;
  readonly counters: Static<typeof COUNTERS>;
}

const MEMBERS = ['config', 'counters'];
const NOTHING = Buffer.from('{}');
/** In memory. */
const FILE = '/test/server.jsonc';
const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;

/** Opens a state for tests, entirely in memory and never over anything that lasts. Rejects as `openFileHome` does. */
export async function openTestHome(
  { path, state, fault }: HomePlaceOf<'test'>,
  options: ComposeOptions,
): Promise<Home> {
  const bytes = path === null ? (state ?? NOTHING) : await options.fileSystem.read(path, FILE_LIMITS.configuration);
  const first = readState(bytes, path ?? 'test.state');
  const fileSystem = createMemoryFiles();
  await fileSystem.makeFolder(dirname(FILE), PRIVATE_FOLDER);
  if (first.text !== null) await fileSystem.create(FILE, Buffer.from(first.text), PRIVATE_FILE);
  const inMemory = { ...options, fileSystem };
  const home = await openLocal(
    { dataFolder: null, serverVersion: null },
    inMemory,
    first.text === null ? null : FILE,
    false,
  );
  const { local = null } = home.parts;
  const count = ({ counters }: ReadState): void => {
    for (const { access_key: key, bytes_up: bytesUp, bytes_down: bytesDown, connections } of counters)
      if (local?.keys.setCounters(key, { bytesUp, bytesDown, connections }) !== true)
        throw new Error(`counters: expected keys of the configuration, found ${JSON.stringify(key)}`);
  };
  count(first);
  return {
    ...home,
    test: {
      faults: new Faults(fault),
      async replaceState(next) {
        const { text, ...read } = readState(next, 'state');
        if (text === null) throw new Error('config: expected the configuration that replaces the present one');
        const file = local?.configuration ?? null;
        if (file === null) throw new Error('state: expected a configuration at the start, which this one replaces');
        await file.restore(Buffer.from(text));
        count({ text, ...read });
      },
    },
  };
}

/** Writes the state of an option as the bytes of its file. */
export function stateBytes({ config, counters, ...others }: TestState): Buffer {
  const members = { ...(config === undefined ? {} : { config }), ...(counters === undefined ? {} : { counters }) };
  // Misspelt members stay in, for the reader of the file to name.
  return Buffer.from(encodeJson({ ...others, ...members }));
}

/** Throws an `Error` for the user. */
function readState(bytes: Buffer, name: string): ReadState {
  try {
    const value = parseJsonc(bytes);
    if (!isJsonObject(value)) throw new SchemaError(name, 'a JSON object');
    const unknown = Object.keys(value).find((member) => !MEMBERS.includes(member));
    if (unknown !== undefined)
      throw new SchemaError(unknown, `one of ${MEMBERS.join(', ')}${didYouMean(unknown, MEMBERS)}`);
    const { config = null, counters = [] } = value;
    return { text: configurationText(config), counters: checked(COUNTERS, counters, 'counters') };
  } catch (error) {
    if (error instanceof SchemaError || error instanceof JsonSyntaxError) throw new Error(`${name}: ${error.message}`);
    throw error;
  }
}

/** Returns the text of a configuration, or null without one. An object without a `mode` is a server's. */
function configurationText(config: JsonValue): string | null {
  if (config === null || typeof config === 'string') return config;
  if (!isJsonObject(config))
    throw new SchemaError('config', "a server's configuration, as an object or as the text of its file");
  return `${writeJson({ mode: 'server', ...config }, 2)}\n`;
}
