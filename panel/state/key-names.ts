import { dataOf } from '../api/http.js';
import { isObject } from '../api/objects.js';
import type { Server } from '../api/server.js';
import type { User } from '../api/wire.js';

/** Milliseconds for which names are taken to be as they were. */
const GOOD_FOR = 60_000;

/** The names of keys for lists that tell none, from the configuration, where the server shows that. */
export function createKeyNames(server: Server, tellsConfiguration: () => boolean) {
  let names: ReadonlyMap<string, string> | null = null;
  let readAt = Number.NEGATIVE_INFINITY;

  const areDue = () => tellsConfiguration() && performance.now() - readAt > GOOD_FOR;

  return {
    /** Tells whether they are worth asking for. */
    areDue,
    /** Puts the names into a list; as it is where there is no way to learn them. */
    async named(users: readonly User[], isDue: boolean): Promise<readonly User[]> {
      if (areDue() || (tellsConfiguration() && (isDue || names === null))) {
        readAt = performance.now();
        const asked = server.configText().then((text) => namesIn(dataOf(text)));
        names = await asked.catch(() => names);
      }
      const known = names;
      return known === null ? users : users.map((user) => ({ ...user, name: known.get(user.access_key) ?? null }));
    },
  };
}

/** The names in a configuration of either layout. */
export function namesIn(configuration: unknown): ReadonlyMap<string, string> {
  if (!isObject(configuration)) return new Map();
  const { access_keys: list, inbounds } = configuration;
  const holders = Array.isArray(inbounds) ? inbounds.map((inbound) => (isObject(inbound) ? inbound.users : null)) : [];
  const keys = [list, ...holders].flatMap((each: unknown) => (Array.isArray(each) ? each : []));
  return new Map(
    keys.flatMap((item) => {
      const key = isObject(item) ? (item.access_key ?? item.key) : null;
      const name = isObject(item) ? item.name : null;
      return typeof key === 'string' && typeof name === 'string' && name !== '' ? [[key, name] as const] : [];
    }),
  );
}
