import type { FailureName } from '../../../wire/errors.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../wire/json/json.js';
import type { OperationName } from '../../../wire/operations.js';
import { keyOf, keysOfFile, withKeyLists } from '../../format/given-state.js';

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
  /** Left out, none is sent; resolves to undefined where what it is made from cannot be read. */
  body?(ground: Ground): Promise<JsonValue | undefined>;
  /** Tells whether reads show that it was made; left out where none has to. */
  isMade?(ground: Ground): Promise<boolean>;
  /** The failure with which that body is refused once `spoiled`. */
  readonly refused?: { readonly failure: FailureName; spoiled(body: JsonValue): JsonValue };
  /** A failure that says no more than how the server is configured. */
  readonly mayFail?: FailureName;
}

const NAME = 'keyway-replay';
const DOMAIN = 'keyway-replay.invalid';
const EVENT: JsonObject = { eventEn: NAME, eventRu: NAME, success: true };

/**
 * Every change that touches the run's own keys, or adds one thing to what stands there, in an order in which each finds the
 * key that it needs.
 */
export const TRIALS: readonly Trial[] = [
  {
    operation: 'createUser',
    body: async ({ key }) => ({ access_key: key }),
    isMade: async (ground) => (await ownKey(ground)) !== undefined,
  },
  {
    operation: 'updateUser',
    body: async () => ({ name: NAME, limit_bytes: 7n }),
    isMade: async (ground) => (await ownKey(ground))?.limit_bytes === 7n,
  },
  {
    operation: 'setLimit',
    body: async () => ({ limit_bytes: 8n }),
    isMade: async (ground) => (await ownKey(ground))?.limit_bytes === 8n,
  },
  { operation: 'resetUser' },
  { operation: 'bulkCreateUsers', body: async () => ({ count: 1n, limit_bytes: null }) },
  { operation: 'refreshBlocklists' },
  {
    operation: 'putRules',
    body: async ({ read }) => {
      const rules = await read('/router/rules');
      return Array.isArray(rules) ? [...rules, { domain_suffix: [DOMAIN], ip_cidr: [], action: 'direct' }] : undefined;
    },
    isMade: async ({ read }) =>
      isIn(await read('/router/rules'), ({ domain_suffix: list }) => Array.isArray(list) && list.includes(DOMAIN)),
    mayFail: 'outboundNotConfigured',
  },
  {
    operation: 'putDnsConfig',
    // Some servers go by it from their next start on, so that nothing has to show it.
    body: async ({ read }) => {
      const settings = await read('/dns/config');
      if (!isJsonObject(settings)) return undefined;
      const domains = isJsonObject(settings.custom_domains) ? settings.custom_domains : {};
      return { ...settings, custom_domains: { ...domains, [DOMAIN]: '192.0.2.1' } };
    },
  },
  {
    operation: 'addAudit',
    body: async () => EVENT,
    isMade: async ({ read }) => isIn(await read('/audit'), isOwnEvent),
  },
  { operation: 'clearAudit', isMade: async ({ read }) => !isIn(await read('/audit'), isOwnEvent) },
  {
    // Last but one: the removal of a key has a server store the keys that it holds, those that others made meanwhile among them.
    operation: 'putConfig',
    body: async ({ key, read }) => withNamedKey(await read('/server/config'), key),
    isMade: async ({ key, read }) => {
      const config = await read('/server/config');
      return isJsonObject(config) && keysOfFile(config).some((each) => each.accessKey === key && each.name === NAME);
    },
    refused: {
      failure: 'configModeMissing',
      spoiled: (config) => {
        const { mode: _, ...others } = isJsonObject(config) ? config : {};
        return others;
      },
    },
  },
  { operation: 'deleteUser', isMade: async (ground) => (await ownKey(ground)) === undefined },
];

async function ownKey({ key, read }: Ground): Promise<JsonObject | undefined> {
  const data = await read(`/users/${key}`);
  return isJsonObject(data) ? data : undefined;
}

function isIn(list: JsonValue | undefined, is: (element: JsonObject) => boolean): boolean {
  return Array.isArray(list) && list.some((each: JsonValue) => isJsonObject(each) && is(each));
}

function isOwnEvent({ eventEn }: JsonObject): boolean {
  return eventEn === NAME;
}

/** A configuration in which the key has another name, all else as it was; undefined where it does not hold the key. */
function withNamedKey(config: JsonValue | undefined, key: string): JsonValue | undefined {
  if (!isJsonObject(config) || !keysOfFile(config).some(({ accessKey }) => accessKey === key)) return undefined;
  return withKeyLists(config, (list) => list.map((each: JsonValue) => (isKey(each, key) ? withName(each) : each)));
}

function isKey(element: JsonValue, key: string): boolean {
  return keyOf(element).some(({ accessKey }) => accessKey === key);
}

function withName(element: JsonValue): JsonValue {
  return isJsonObject(element) ? { ...element, name: NAME } : { access_key: element, name: NAME };
}
