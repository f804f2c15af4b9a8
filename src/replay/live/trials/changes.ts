import { isJsonObject, type JsonObject, type JsonValue } from '../../../wire/json/json.js';
import type { OperationName } from '../../../wire/operations.js';

/** The server that a trial works on. */
export interface Ground {
  /** A key of the run's own. */
  readonly key: string;
  /** The data of a read below the API root; undefined where there is none. */
  read(path: string): Promise<JsonValue | undefined>;
}

/** One change as a run asks for it. */
export interface Trial {
  readonly operation: OperationName;
  /** Left out, none is sent. */
  body?(ground: Ground): JsonValue;
  /** Tells whether reads show that it was made; left out where none has to. */
  isMade?(ground: Ground): Promise<boolean>;
}

/** A name longer than people make them, with a character outside the basic plane: servers cut such names. */
const NAME = `keyway-replay \u{1f511} ${'n'.repeat(184)}`;

/** Every change that touches the run's own keys or replaces nothing, in an order in which each finds the key that it needs. */
export const TRIALS: readonly Trial[] = [
  {
    operation: 'createUser',
    body: ({ key }) => ({ access_key: key }),
    isMade: async (ground) => (await ownKey(ground)) !== undefined,
  },
  {
    operation: 'updateUser',
    body: () => ({ name: NAME, limit_bytes: 7n }),
    isMade: async (ground) => {
      const key = await ownKey(ground);
      return key?.limit_bytes === 7n && (key.name === undefined || key.name === NAME);
    },
  },
  {
    operation: 'setLimit',
    body: () => ({ limit_bytes: 8n }),
    isMade: async (ground) => (await ownKey(ground))?.limit_bytes === 8n,
  },
  { operation: 'resetUser' },
  { operation: 'bulkCreateUsers', body: () => ({ count: 1n, limit_bytes: null }) },
  { operation: 'refreshBlocklists' },
  { operation: 'deleteUser', isMade: async (ground) => (await ownKey(ground)) === undefined },
];

async function ownKey({ key, read }: Ground): Promise<JsonObject | undefined> {
  const data = await read(`/users/${key}`);
  return isJsonObject(data) ? data : undefined;
}
