import type { Answer, Call, Caller } from '../../client/call.js';
import type { Control } from '../../client/signed-in-caller.js';
import { dataIn, isJsonObject, jsonIn, LAST_WINS } from '../../wire/json/json.js';
import { decoded, keysNamed, makesKeys, matchOperation } from '../format/effects.js';

/** The keys that a run has made on a live server, so that it touches no others and leaves none behind. */
export class OwnKeys {
  /** The prefix of every key that the run names itself. */
  readonly prefix: string;
  readonly #foreign: ReadonlySet<string>;
  /** Keys made since the last removal. */
  readonly #made = new Set<string>();
  readonly #ever = new Set<string>();

  /**
   * Starts without keys of its own. `others` existed before the run and never count as its own, whatever a server
   * claims to have made.
   */
  constructor(prefix: string, others: readonly string[] = []) {
    this.prefix = prefix;
    this.#foreign = new Set(others);
  }

  isOwn(accessKey: string): boolean {
    return accessKey.startsWith(this.prefix) || this.#ever.has(accessKey);
  }

  /** Notes a key that the run is about to make. */
  add(accessKey: string): void {
    if (this.#foreign.has(accessKey)) return;
    this.#made.add(accessKey);
    this.#ever.add(accessKey);
  }

  /** Removes the keys that were made since the last removal; returns those that could not be removed. */
  async removeAll(control: Control): Promise<readonly string[]> {
    const left: string[] = [];
    for (const accessKey of [...this.#made]) {
      if (await removed(accessKey, control)) this.#made.delete(accessKey);
      else left.push(accessKey);
    }
    return left;
  }
}

/** Tells whether a key is gone; an unknown key counts as removed. */
async function removed(accessKey: string, control: Control): Promise<boolean> {
  try {
    const { status, error } = await control.send('DELETE', `/users/${encodeURIComponent(accessKey)}`);
    return status === 200 || (status === 400 && /user not found/i.test(error));
  } catch {
    return false;
  }
}

/**
 * Wraps a caller so that it sends only key changes that touch no other clients' keys, and notes every key that is made.
 * Any other key change is not sent: the call rejects.
 */
export function guardKeys(caller: Caller, { own, apiRoot }: Guarded): Caller {
  return {
    close: () => caller.close(),
    async send(call) {
      const path = call.path.startsWith(apiRoot) ? call.path.slice(apiRoot.length) : null;
      const matched = path === null ? null : matchOperation(call.method, path);
      if (matched === null || matched.operation.effect.kind === 'reads') return caller.send(call);
      const named = matched.keySegment === null ? keyInBody(call) : decoded(matched.keySegment);
      if (matched.operation.subject === 'keys' && named !== null) {
        await refuseForeign(caller, call, { accessKey: named, own, apiRoot });
      }
      const makes = makesKeys(matched.operation);
      if (makes && named === '') throw new Error('not sent: no operation removes an empty key');
      if (makes && named !== null) own.add(named);
      const answer = await caller.send(call);
      if (makes) for (const key of keysIn(answer)) own.add(key);
      return answer;
    },
  };
}

interface Guarded {
  readonly own: OwnKeys;
  readonly apiRoot: string;
}

/** Uses the call's own credential, because a login of ours would end the scenario's session. */
async function refuseForeign(
  caller: Caller,
  call: Call,
  { accessKey, own, apiRoot }: Guarded & { readonly accessKey: string },
): Promise<void> {
  if (accessKey === '' || own.isOwn(accessKey)) return;
  const path = `${apiRoot}/users/${encodeURIComponent(accessKey)}`;
  const headers = new Map([...call.headers].filter(([name]) => name.toLowerCase() === 'authorization'));
  const { status } = await caller.send({ method: 'GET', path, headers, body: undefined });
  if (status === 200) throw new Error('not sent: it would change a key that was not made here');
}

function keyInBody({ body }: Call): string | null {
  const value = body === undefined ? undefined : jsonIn(body, LAST_WINS);
  return isJsonObject(value) && typeof value.access_key === 'string' ? value.access_key : null;
}

function keysIn({ status, body }: Answer): readonly string[] {
  return status === 200 ? keysNamed(dataIn(body, LAST_WINS)) : [];
}
