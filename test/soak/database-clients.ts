import { setTimeout as pause } from 'node:timers/promises';
import { type ChaosGateway, TOKEN } from './database-gateways.js';

/** What a key may be: absent, or a name and a limit. Several after a change of which nobody knows whether it happened. */
type State = `${string}/${number}` | 'absent';

/** Clients that change keys, report usage, log in and write rules at random gateways, and keep account of it. */
export interface Clients {
  /** Works until it is told to stop, and until nothing is under way any more. */
  run(): Promise<void>;
  stop(): void;
  /** What is otherwise than it was acknowledged, in words. */
  faults(users: readonly WireUser[], rules: readonly unknown[]): readonly string[];
  readonly acknowledged: () => number;
  /** Starts a new account: what was acknowledged before counts no more. */
  forget(users: readonly WireUser[], rules: readonly unknown[]): void;
}

export interface WireUser {
  readonly access_key: string;
  readonly name?: string | null;
  readonly limit_bytes: number | null;
  readonly bytes_up: number;
}

export interface ClientsOptions {
  readonly gateways: readonly Pick<ChaosGateway, 'api' | 'feed'>[];
  readonly clients: number;
  readonly random: () => number;
}

/** What became of a request. */
type Outcome = 'done' | 'nothing' | 'unknown';

const HEADERS = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
/** Milliseconds; a gateway knows what became of a write within ten seconds. */
const PATIENCE = 20_000;

export function createClients({ gateways, clients, random }: ClientsOptions): Clients {
  const states = new Map<string, ReadonlySet<State>>();
  const counted = new Map<string, number>();
  let rules: ReadonlySet<string> = new Set(['[]']);
  const wrong: string[] = [];
  let acknowledged = 0;
  let isStopped = false;
  let made = 0;

  const pick = <T>(list: readonly T[]): T => {
    const found = list[Math.floor(random() * list.length)];
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

  /** A 400 is a promise that nothing has happened; a 504, and no answer at all, are none. */
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
    const before = states.get(accessKey) ?? new Set<State>(['absent']);
    const mayBeThere = [...before].some((state) => state !== 'absent');
    const isRemoval = mayBeThere && random() < 0.3;
    const isUpdate = !isRemoval && mayBeThere && random() < 0.5;
    made += 1;
    const next: State = isRemoval ? 'absent' : `n${made}/${made}`;
    const record = { name: `n${made}`, limit_bytes: made };
    const path = `/users${isRemoval || isUpdate ? `/${accessKey}` : ''}`;
    const method = isRemoval ? 'DELETE' : isUpdate ? 'PUT' : 'POST';
    const body = isRemoval ? undefined : isUpdate ? record : { access_key: accessKey, ...record };
    const { outcome, json } = await change(path, method, body);
    const isMissing = json !== null && /user not found/i.test(String(json.error));
    if (isMissing) {
      if (!before.has('absent')) wrong.push(`${accessKey} was ${[...before].join(' or ')} and was not found`);
      states.set(accessKey, new Set(['absent']));
    } else if (outcome === 'done') states.set(accessKey, new Set<State>([next]));
    else if (outcome === 'unknown') states.set(accessKey, new Set<State>([...before, next]));
  }

  /** A report is sent until somebody acknowledges it, each time to any gateway. */
  async function report(n: number): Promise<void> {
    made += 1;
    const id = `report-${made}-${n}`;
    const keys = Array.from({ length: 1 + Math.floor(random() * 3) }, () => `counted-${Math.floor(random() * 10)}`);
    const entries = [...new Set(keys)].map((access_key) => ({ access_key, bytes_up: 1, bytes_down: 0 }));
    for (;;) {
      const answer = await ask(`${pick(gateways).feed}/usage`, 'POST', { report_id: id, entries }).catch(() => null);
      if (answer?.status === 200) {
        const unknown = answer.json.unknown_keys as readonly string[];
        if (unknown.length > 0) wrong.push(`${unknown.join()} of ${id} were not known`);
        break;
      }
      await pause(50);
    }
    acknowledged += 1;
    for (const { access_key } of entries) counted.set(access_key, (counted.get(access_key) ?? 0) + 1);
  }

  async function writeRules(): Promise<void> {
    made += 1;
    const suffix = `.r${made}`;
    const body = [{ domain_suffix: [suffix], ip_cidr: [], action: 'direct' }];
    const { outcome } = await change('/router/rules', 'PUT', body);
    if (outcome === 'done') rules = new Set([suffix]);
    else if (outcome === 'unknown') rules = new Set([...rules, suffix]);
  }

  /** A session that one gateway began is one everywhere. */
  async function logIn(): Promise<void> {
    const begun = await change('/login', 'POST', { username: 'admin', password: 'password' });
    const token = (begun.json?.data as Json | undefined)?.token;
    if (begun.outcome !== 'done' || typeof token !== 'string') return;
    const headers = { authorization: `Bearer ${token}` };
    const signal = AbortSignal.timeout(PATIENCE);
    const answer = await fetch(`${pick(gateways).api}/server/status`, { headers, signal }).catch(() => null);
    if (answer?.status === 401) wrong.push('a session that was begun at one gateway is unknown at another');
  }

  async function work(n: number): Promise<void> {
    const own = Array.from({ length: 4 }, (_, key) => `k-${n}-${key}`);
    while (!isStopped) {
      if (n === 0) await writeRules();
      else if (n === 1) await logIn();
      else if (n % 3 === 0) await report(n);
      else await changeKey(pick(own));
      await pause(random() * 60);
    }
  }

  return {
    acknowledged: () => acknowledged,
    stop() {
      isStopped = true;
    },
    async run() {
      isStopped = false;
      await Promise.all(Array.from({ length: clients }, (_, n) => work(n)));
    },
    faults(users, present) {
      const found = new Map(users.map((user) => [user.access_key, user]));
      for (const [accessKey, possible] of states) {
        const user = found.get(accessKey);
        const state: State = user === undefined ? 'absent' : `${user.name ?? ''}/${Number(user.limit_bytes)}`;
        if (!possible.has(state)) wrong.push(`${accessKey} is ${state} instead of ${[...possible].join(' or ')}`);
      }
      for (const [accessKey, count] of counted) {
        const bytes = found.get(accessKey)?.bytes_up;
        if (bytes !== count) wrong.push(`${accessKey} has counted ${bytes} instead of ${count}`);
      }
      const shown = rulesText(present);
      if (!rules.has(shown)) wrong.push(`the rules are ${shown} instead of ${[...rules].join(' or ')}`);
      return wrong.splice(0);
    },
    forget(users, present) {
      states.clear();
      counted.clear();
      for (const user of users) {
        if (user.access_key.startsWith('counted-')) counted.set(user.access_key, user.bytes_up);
        else states.set(user.access_key, new Set<State>([`${user.name ?? ''}/${Number(user.limit_bytes)}`]));
      }
      rules = new Set([rulesText(present)]);
    },
  };
}

type Json = Readonly<Record<string, unknown>>;

function rulesText(rules: readonly unknown[]): string {
  const [rule] = rules as readonly { readonly domain_suffix: readonly string[] }[];
  return rule?.domain_suffix[0] ?? '[]';
}
