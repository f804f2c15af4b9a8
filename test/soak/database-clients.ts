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
  readonly counts: () => Readonly<Record<'acknowledged' | 'refused' | 'unknown', number>>;
}

type Gateway = Pick<ChaosGateway, 'api' | 'feed'>;

export interface ClientsOptions {
  readonly gateways: readonly Gateway[];
  readonly clients: number;
  readonly random: () => number;
}

const HEADERS = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
/** Milliseconds; a gateway knows what became of a write within ten seconds. */
const PATIENCE = 20_000;
/** How long a gateway that has not answered is left alone, as a proxy does. */
const AVOIDED = 20_000;

export function createClients({ gateways, clients, random }: ClientsOptions): Clients {
  const account = createAccount();
  const gate = createGate();
  const counts = { acknowledged: 0, refused: 0, unknown: 0 };
  /** Until when a gateway is left alone. */
  const avoided = new Map<object, number>();
  let isStopped = false;
  /** What nobody knows the outcome of may still happen until the round is over: then nothing is written over it. */
  let areRulesOpen = false;
  let isSessionOpen = false;
  let made = 0;

  const below = (count: number) => Math.floor(random() * count);
  const pick = <T>(list: readonly T[]): T => {
    const found = list[below(list.length)];
    if (found === undefined) throw new Error('nothing to choose from');
    return found;
  };

  /** Any gateway that has not failed to answer of late. */
  function answering(): Gateway {
    const present = gateways.filter((each) => (avoided.get(each) ?? 0) < performance.now());
    return pick(present.length === 0 ? gateways : present);
  }

  async function ask(
    door: 'api' | 'feed',
    path: string,
    method: string,
    body: unknown,
    gateway = answering(),
  ): Promise<Answer> {
    try {
      const answer = await fetch(gateway[door] + path, {
        method,
        headers: HEADERS,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(PATIENCE),
      });
      return { status: answer.status, json: (await answer.json()) as Json };
    } catch (error) {
      if (error instanceof Error && error.name === 'TimeoutError') avoided.set(gateway, performance.now() + AVOIDED);
      throw error;
    }
  }

  async function change(
    path: string,
    method: string,
    body?: unknown,
    gateway = answering(),
  ): Promise<{ outcome: Outcome; json: Json | null }> {
    try {
      const { status, json } = await ask('api', path, method, body, gateway);
      if (status === 200) counts.acknowledged += 1;
      else counts[status === 504 ? 'unknown' : 'refused'] += 1;
      return { outcome: status === 200 ? 'done' : status === 504 ? 'unknown' : 'nothing', json };
    } catch {
      counts.unknown += 1;
      return { outcome: 'unknown', json: null };
    }
  }

  /** Resolves to what became of it. */
  async function changeKey(accessKey: string): Promise<Outcome> {
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
    return outcome;
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
      const answer = await ask('feed', '/usage', 'POST', { report_id: id, entries }).catch(() => null);
      if (answer?.status === 200) {
        const unknown = answer.json.unknown_keys as readonly string[];
        if (unknown.length > 0) account.wrong(`${unknown.join()} of ${id} were not known`);
        break;
      }
      await pause(50);
    }
    counts.acknowledged += 1;
    account.counted(keys);
  }

  async function writeRules(): Promise<void> {
    if (areRulesOpen) return;
    made += 1;
    const suffix = `.r${made}`;
    const body = [{ domain_suffix: [suffix], ip_cidr: [], action: 'direct' }];
    const { outcome } = await change('/router/rules', 'PUT', body);
    account.rules(suffix, outcome);
    areRulesOpen = outcome === 'unknown';
  }

  /**
   * Replaces the configuration by what it is, less or with a key. Others' keys and rules must not change meanwhile, or they
   * were rightly lost; reports and logins go on.
   */
  async function replaceConfiguration(): Promise<void> {
    // Of the one that has just answered: what may have happened ends the round.
    const gateway = answering();
    const read = await ask('api', '/server/config', 'GET', undefined, gateway).catch(() => null);
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
    const { outcome } = await change('/server/config', 'PUT', { ...configuration, note, access_keys }, gateway);
    account.note(note, outcome);
    account.key(accessKey, isRemoval ? 'absent' : stateOf(record), outcome);
    // It may yet happen, and take with it whatever comes meanwhile: the round ends.
    if (outcome === 'unknown') isStopped = true;
  }

  /** A session that one gateway began is one everywhere. */
  async function logIn(): Promise<void> {
    const begun = await change('/login', 'POST', { username: 'admin', password: 'password' });
    const token = (begun.json?.data as Json | undefined)?.token;
    isSessionOpen ||= begun.outcome === 'unknown';
    if (isSessionOpen || begun.outcome !== 'done' || typeof token !== 'string') return;
    const headers = { authorization: `Bearer ${token}` };
    const signal = AbortSignal.timeout(PATIENCE);
    const answer = await fetch(`${pick(gateways).api}/server/status`, { headers, signal }).catch(() => null);
    if (answer?.status === 401) account.wrong('a session that was begun at one gateway is unknown at another');
  }

  async function changeKeys(own: string[]): Promise<void> {
    const at = below(own.length);
    if (random() < 0.1) own.push(...(await makeBulk()));
    // A change that may yet happen is the last of its key in this round.
    else if ((await changeKey(own[at] ?? '')) === 'unknown') {
      made += 1;
      own[at] = `k-${made}-again`;
    }
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
    counts: () => counts,
    stop() {
      isStopped = true;
    },
    async run() {
      isStopped = false;
      areRulesOpen = false;
      isSessionOpen = false;
      await Promise.all(Array.from({ length: clients }, (_, n) => work(n)));
    },
  };
}

type Json = Readonly<Record<string, unknown>>;

interface Answer {
  readonly status: number;
  readonly json: Json;
}

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
  const change = () => new Promise<void>((resolve) => waiting.push(resolve));
  return {
    async together(work: () => Promise<void>): Promise<void> {
      // Nothing may come between the look and what it allows.
      while (isClosed) await change();
      working += 1;
      await work().finally(() => {
        working -= 1;
        changed();
      });
    },
    async alone(work: () => Promise<void>): Promise<void> {
      isClosed = true;
      while (working > 0) await change();
      await work().finally(() => {
        isClosed = false;
        changed();
      });
    },
  };
}
