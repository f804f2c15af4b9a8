import { setTimeout as pause } from 'node:timers/promises';
import { type Account, COUNTED, createAccount, type Outcome, stateOf } from './database-account.js';
import { type ChaosGateway, TOKEN } from './database-gateways.js';

/**
 * Clients that change keys one by one and in bulk, report usage, log in, write rules and replace the configuration at random
 * gateways, and keep account of it.
 */
export interface Clients {
  /** Works until it is told to stop, and until nothing is under way any more. */
  run(): Promise<void>;
  stop(): void;
  readonly account: Pick<Account, 'faults' | 'restart'>;
  readonly acknowledged: () => number;
}

export interface ClientsOptions {
  readonly gateways: readonly Pick<ChaosGateway, 'api' | 'feed'>[];
  readonly clients: number;
  readonly random: () => number;
}

const HEADERS = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
/** Milliseconds; a gateway knows what became of a write within ten seconds. */
const PATIENCE = 20_000;

export function createClients({ gateways, clients, random }: ClientsOptions): Clients {
  const account = createAccount();
  const gate = createGate();
  let acknowledged = 0;
  let isStopped = false;
  let made = 0;

  const below = (count: number) => Math.floor(random() * count);
  const pick = <T>(list: readonly T[]): T => {
    const found = list[below(list.length)];
    if (found === undefined) throw new Error('nothing to choose from');
    return found;
  };

  async function ask(url: string, method: string, body: unknown): Promise<{ status: number; json: Json }> {
    const answer = await fetch(url, {
      method,
      headers: HEADERS,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(PATIENCE),
    });
    return { status: answer.status, json: (await answer.json()) as Json };
  }

  async function change(
    path: string,
    method: string,
    body?: unknown,
  ): Promise<{ outcome: Outcome; json: Json | null }> {
    try {
      const { status, json } = await ask(pick(gateways).api + path, method, body);
      if (status === 200) acknowledged += 1;
      return { outcome: status === 200 ? 'done' : status === 504 ? 'unknown' : 'nothing', json };
    } catch {
      return { outcome: 'unknown', json: null };
    }
  }

  async function changeKey(accessKey: string): Promise<void> {
    const mayBeThere = [...account.states(accessKey)].some((state) => state !== 'absent');
    const isRemoval = mayBeThere && random() < 0.3;
    const isUpdate = !isRemoval && mayBeThere && random() < 0.5;
    made += 1;
    const record = { name: `n${made}`, limit_bytes: made };
    const path = `/users${isRemoval || isUpdate ? `/${accessKey}` : ''}`;
    const method = isRemoval ? 'DELETE' : isUpdate ? 'PUT' : 'POST';
    const body = isRemoval ? undefined : isUpdate ? record : { access_key: accessKey, ...record };
    const { outcome, json } = await change(path, method, body);
    if (json !== null && /user not found/i.test(String(json.error))) account.missing(accessKey);
    else account.key(accessKey, isRemoval ? 'absent' : stateOf(record), outcome);
  }

  /** Resolves to the keys that were made. */
  async function makeBulk(): Promise<readonly string[]> {
    made += 1;
    const [limit, count] = [made, 1 + below(4)];
    const { outcome, json } = await change('/users/bulk', 'POST', { count, limit_bytes: limit });
    const keys = outcome === 'done' ? (json?.data as readonly string[]) : [];
    account.bulk(limit, count, keys, outcome);
    return keys;
  }

  /** A report is sent until somebody acknowledges it, each time to any gateway. */
  async function report(n: number): Promise<void> {
    made += 1;
    const id = `report-${made}-${n}`;
    const keys = [...new Set(Array.from({ length: 1 + below(3) }, () => `${COUNTED}${below(10)}`))];
    const entries = keys.map((access_key) => ({ access_key, bytes_up: 1, bytes_down: 0 }));
    for (;;) {
      const answer = await ask(`${pick(gateways).feed}/usage`, 'POST', { report_id: id, entries }).catch(() => null);
      if (answer?.status === 200) {
        const unknown = answer.json.unknown_keys as readonly string[];
        if (unknown.length > 0) account.wrong(`${unknown.join()} of ${id} were not known`);
        break;
      }
      await pause(50);
    }
    acknowledged += 1;
    account.counted(keys);
  }

  async function writeRules(): Promise<void> {
    made += 1;
    const suffix = `.r${made}`;
    const body = [{ domain_suffix: [suffix], ip_cidr: [], action: 'direct' }];
    account.rules(suffix, (await change('/router/rules', 'PUT', body)).outcome);
  }

  /**
   * Replaces the configuration by what it is, less or with a key. Others' keys and rules must not change meanwhile, or they
   * were rightly lost; reports and logins go on.
   */
  async function replaceConfiguration(): Promise<void> {
    const read = await ask(`${pick(gateways).api}/server/config`, 'GET', undefined).catch(() => null);
    if (read?.status !== 200) return;
    const configuration = read.json.data as Configuration;
    const listed = configuration.access_keys.map((key) => (typeof key === 'string' ? { access_key: key } : key));
    const found = new Map(listed.map((key) => [key.access_key, key]));
    made += 1;
    const note = `note ${made}`;
    const accessKey = `put-${below(5)}`;
    const possible = account.states(accessKey);
    const present = stateOf(found.get(accessKey));
    if (!possible.has(present)) account.wrong(`${accessKey} is ${present} in a configuration that was read`);
    const isRemoval = present !== 'absent' && random() < 0.5;
    const record = { access_key: accessKey, name: `n${made}`, limit_bytes: made };
    const others = configuration.access_keys.filter((key) => key !== accessKey && keyOf(key) !== accessKey);
    const access_keys = isRemoval ? others : [...others, record];
    const { outcome } = await change('/server/config', 'PUT', { ...configuration, note, access_keys });
    account.note(note, outcome);
    account.key(accessKey, isRemoval ? 'absent' : stateOf(record), outcome);
  }

  /** A session that one gateway began is one everywhere. */
  async function logIn(): Promise<void> {
    const begun = await change('/login', 'POST', { username: 'admin', password: 'password' });
    const token = (begun.json?.data as Json | undefined)?.token;
    if (begun.outcome !== 'done' || typeof token !== 'string') return;
    const headers = { authorization: `Bearer ${token}` };
    const signal = AbortSignal.timeout(PATIENCE);
    const answer = await fetch(`${pick(gateways).api}/server/status`, { headers, signal }).catch(() => null);
    if (answer?.status === 401) account.wrong('a session that was begun at one gateway is unknown at another');
  }

  async function changeKeys(own: string[]): Promise<void> {
    if (random() < 0.1) own.push(...(await makeBulk()));
    else await changeKey(pick(own));
  }

  async function work(n: number): Promise<void> {
    const own = Array.from({ length: 4 }, (_, key) => `k-${n}-${key}`);
    while (!isStopped) {
      if (n === 0) await gate.together(writeRules);
      else if (n === 1) await logIn();
      else if (n === 2) await gate.alone(replaceConfiguration);
      else if (n % 3 === 0) await report(n);
      else await gate.together(() => changeKeys(own));
      await pause(random() * (n === 2 ? 500 : 60));
    }
  }

  return {
    account,
    acknowledged: () => acknowledged,
    stop() {
      isStopped = true;
    },
    async run() {
      isStopped = false;
      await Promise.all(Array.from({ length: clients }, (_, n) => work(n)));
    },
  };
}

type Json = Readonly<Record<string, unknown>>;

interface Configuration {
  readonly access_keys: readonly (string | ConfigurationKey)[];
}

interface ConfigurationKey {
  readonly access_key: string;
  readonly name?: string | null;
  readonly limit_bytes?: number | null;
}

function keyOf(key: string | ConfigurationKey): string {
  return typeof key === 'string' ? key : key.access_key;
}

/** Lets many work together, and one of another kind while none of them does. */
function createGate() {
  let working = 0;
  let isClosed = false;
  const waiting: (() => void)[] = [];
  const changed = () => {
    for (const look of waiting.splice(0)) look();
  };
  const until = async (holds: () => boolean) => {
    while (!holds()) await new Promise<void>((resolve) => waiting.push(resolve));
  };
  return {
    async together(work: () => Promise<void>): Promise<void> {
      await until(() => !isClosed);
      working += 1;
      await work().finally(() => {
        working -= 1;
        changed();
      });
    },
    async alone(work: () => Promise<void>): Promise<void> {
      isClosed = true;
      await until(() => working === 0);
      await work().finally(() => {
        isClosed = false;
        changed();
      });
    },
  };
}
