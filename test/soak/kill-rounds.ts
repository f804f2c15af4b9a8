import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isJsonObject, type JsonValue, parseJson } from '../../src/wire/json/json.js';
import { type Running, startKeyway } from '../commands/process.js';
import { createChooser } from '../homes/file/counters/store-story.js';

/** What rounds of killing have shown. Entries are single usages of single keys. */
export interface KillSummary {
  readonly rounds: number;
  /** Reports that were acknowledged, and changes of keys. */
  readonly acknowledged: number;
  /** Entries that were acknowledged as durable and are gone, changes of keys likewise. */
  readonly lost: number;
  /** Entries that were counted more than once. */
  readonly doubled: number;
  /** Reports acknowledged in memory that the kill has taken, and that were sent again. */
  readonly takenFromMemory: number;
  /** What was lost or doubled, in words. */
  readonly faults: readonly string[];
}

export interface KillOptions {
  readonly folder: string;
  readonly rounds: number;
  readonly seed: number;
  readonly onRound?: (summary: KillSummary) => void;
}

const API_TOKEN = 'api-token';
const FEED_TOKEN = 'feed-token';
const REPORTED = Array.from({ length: 24 }, (_, index) => `reported-${index}`);
const MANAGED = Array.from({ length: 4 }, (_, index) => `managed-${index}`);
/** Acknowledgements of a round before the kill. */
const MOST_ACKNOWLEDGED = 60;

interface Report {
  readonly id: string;
  readonly keys: readonly string[];
}

/** What a managed key may be: absent, or with a name and so many bytes. Several after a kill in the middle of a change. */
type State = Found | 'absent';

/** What the server says of a key. */
interface Found {
  readonly name: string | null;
  readonly bytes: number;
}

/** Starts, loads, kills and checks the real process, as often as asked. */
export async function runKillRounds({ folder, rounds, seed, onRound }: KillOptions): Promise<KillSummary> {
  const choose = createChooser(seed);
  const configPath = join(folder, 'server.json');
  const api = { enabled: true, bind: '127.0.0.1:0', token: API_TOKEN };
  await writeFile(configPath, JSON.stringify({ mode: 'server', api, access_keys: REPORTED }, null, 2));
  const ledger = createLedger();
  const summary: { -readonly [Name in keyof KillSummary]: KillSummary[Name] } = {
    rounds: 0,
    acknowledged: 0,
    lost: 0,
    doubled: 0,
    takenFromMemory: 0,
    faults: [],
  };
  let reports = 0;
  let names = 0;

  async function oneRound(): Promise<void> {
    const server = await startServer(folder, configPath);
    Object.assign(summary, ledger.check(await server.counters(), summary));
    await sendAgain(server);
    Object.assign(summary, ledger.check(await server.counters(), summary));
    let left = 5 + choose(MOST_ACKNOWLEDGED);
    const acknowledged = () => {
      summary.acknowledged += 1;
      left -= 1;
      if (left === 0) server.kill();
    };
    await Promise.all([
      ...[0, 1, 2].map((lane) => reportUntilKilled(server, lane, acknowledged)),
      ...MANAGED.map((key) => manageUntilKilled(server, key, acknowledged)),
    ]);
    await server.ended;
    summary.rounds += 1;
    onRound?.({ ...summary });
  }

  /** What the kill left unanswered, and what was acknowledged in memory alone: a data plane sends these again. */
  async function sendAgain(server: Server): Promise<void> {
    for (const { report, wasAcknowledged } of ledger.takeUncertain()) {
      const answer = await server.report(report, 'durable');
      if (answer === null) throw new Error('the server does not take a report that is sent again');
      if (wasAcknowledged && !answer.repeated) summary.takenFromMemory += 1;
      ledger.durable(report);
    }
  }

  async function reportUntilKilled(server: Server, lane: number, acknowledged: () => void): Promise<void> {
    while (!server.isKilled()) {
      const count = 1 + choose(REPORTED.length);
      const keys = Array.from({ length: count }, () => REPORTED[choose(REPORTED.length)] ?? '');
      const report = { id: `report-${seed}-${reports++}`, keys };
      const ack = lane === 0 ? 'memory' : 'durable';
      ledger.sent(report);
      const answer = await server.report(report, ack);
      if (answer === null) return;
      if (ack === 'durable') ledger.durable(report);
      else ledger.inMemory(report);
      acknowledged();
    }
  }

  async function manageUntilKilled(server: Server, key: string, acknowledged: () => void): Promise<void> {
    while (!server.isKilled()) {
      const present = ledger.stateOf(key);
      const steps =
        present === 'absent' ? (['create'] as const) : (['create', 'delete', 'reset', 'report', 'report'] as const);
      const step = steps[choose(steps.length)] ?? 'create';
      const name = `name-${names++}`;
      const next = changed(present, step, name);
      ledger.changing(key, next);
      const isDone =
        step === 'report'
          ? (await server.report({ id: `report-${seed}-${reports++}`, keys: [key] }, 'durable')) !== null
          : await server.change(step, key, name);
      if (!isDone) return;
      ledger.changed(key, next);
      acknowledged();
    }
  }

  for (let round = 0; round < rounds; round += 1) await oneRound();
  const server = await startServer(folder, configPath);
  await sendAgain(server);
  Object.assign(summary, ledger.check(await server.counters(), summary));
  server.kill();
  await server.ended;
  const kept = await readFile(configPath, 'utf8');
  if (!REPORTED.every((key) => kept.includes(key))) summary.lost += 1;
  return summary;
}

/** What the change makes of the key: a create gives it a record and counters of its own. */
function changed(present: State, step: 'create' | 'delete' | 'reset' | 'report', name: string): State {
  if (step === 'delete') return 'absent';
  if (step === 'create' || present === 'absent') return { name, bytes: 0 };
  return { ...present, bytes: step === 'report' ? present.bytes + 1 : 0 };
}

function sameState(a: State, b: State): boolean {
  return a === 'absent' || b === 'absent' ? a === b : a.name === b.name && a.bytes === b.bytes;
}

type Counters = ReadonlyMap<string, Found>;

type Faults = Pick<KillSummary, 'lost' | 'doubled' | 'faults'>;

/** What was said to the server, and what it said. */
function createLedger() {
  const certain = new Map<string, number>(REPORTED.map((key) => [key, 0]));
  const uncertain = new Map<string, { readonly report: Report; wasAcknowledged: boolean }>();
  const states = new Map<string, readonly State[]>(MANAGED.map((key) => [key, ['absent']]));

  /** How much the uncertain reports would add to a key. */
  const perhaps = (key: string) =>
    [...uncertain.values()].reduce((sum, { report }) => sum + report.keys.filter((one) => one === key).length, 0);

  return {
    sent: (report: Report) => void uncertain.set(report.id, { report, wasAcknowledged: false }),
    inMemory: (report: Report) => void uncertain.set(report.id, { report, wasAcknowledged: true }),
    durable(report: Report): void {
      uncertain.delete(report.id);
      for (const key of report.keys) certain.set(key, (certain.get(key) ?? 0) + 1);
    },
    takeUncertain() {
      const taken = [...uncertain.values()];
      return taken;
    },
    stateOf: (key: string): State => states.get(key)?.[0] ?? 'absent',
    changing: (key: string, next: State) => void states.set(key, [states.get(key)?.[0] ?? 'absent', next]),
    changed: (key: string, next: State) => void states.set(key, [next]),
    /** Compares, and takes what managed keys are now for what they must be from now on. */
    check(found: Counters, before: Faults): Faults {
      let { lost, doubled } = before;
      const faults = [...before.faults];
      for (const [key, least] of certain) {
        const present = found.get(key)?.bytes ?? 0;
        const most = least + perhaps(key);
        if (present < least) lost += least - present;
        if (present > most) doubled += present - most;
        if (present < least || present > most) faults.push(`${key} has ${present}, expected ${least} to ${most}`);
      }
      for (const [key, allowed] of states) {
        const present = found.get(key) ?? 'absent';
        if (!allowed.some((state) => sameState(state, present))) {
          lost += 1;
          faults.push(`${key} is ${JSON.stringify(present)}, expected one of ${JSON.stringify(allowed)}`);
        }
        states.set(key, [present]);
      }
      return { lost, doubled, faults };
    },
  };
}

interface Server {
  readonly ended: Running['ended'];
  kill(): void;
  isKilled(): boolean;
  /** Null when the kill came before the answer. */
  report(report: Report, ack: 'memory' | 'durable'): Promise<{ readonly repeated: boolean } | null>;
  /** A create gives the key this name. */
  change(step: 'create' | 'delete' | 'reset', key: string, name: string): Promise<boolean>;
  /** Name and bytes up of every key. */
  counters(): Promise<Counters>;
}

async function startServer(folder: string, configPath: string): Promise<Server> {
  const argv = ['serve', '--config', configPath, '--feed-bind', '127.0.0.1:0', '--feed-token', FEED_TOKEN];
  const running = startKeyway(argv, { folder });
  const feed = String((await running.logged(({ feed }) => feed !== undefined)).feed);
  const url = String((await running.logged(({ url }) => url !== undefined)).url);
  let killed = false;

  async function ask(method: string, target: string, token: string, body?: object): Promise<string | null> {
    try {
      const response = await fetch(target, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (response.status !== 200)
        throw new RefusedError(`${method} ${target} was answered ${response.status}: ${text}`);
      return text;
    } catch (error) {
      if (error instanceof RefusedError || !killed) throw error;
      return null;
    }
  }

  /** Null where there is no such key. */
  async function counterOf(key: string): Promise<Found | null> {
    const response = await fetch(`${url}/panel/api/users/${key}`, { headers: { authorization: API_TOKEN } });
    const body = parseJson(Buffer.from(await response.arrayBuffer()));
    if (isJsonObject(body) && isJsonObject(body.data ?? null)) return foundIn(body.data);
    if (response.status !== 400) throw new RefusedError(`${key} was answered ${response.status}`);
    return null;
  }

  return {
    ended: running.ended,
    kill() {
      killed = true;
      running.child.kill('SIGKILL');
    },
    isKilled: () => killed,
    async report({ id, keys }, ack) {
      const entries = keys.map((access_key) => ({ access_key, bytes_up: 1, bytes_down: 0 }));
      const text = await ask('POST', `${feed}/v1/usage?ack=${ack}`, FEED_TOKEN, { report_id: id, entries });
      return text === null ? null : { repeated: JSON.parse(text).repeated === true };
    },
    async change(step, key, name) {
      const users = `${url}/panel/api/users`;
      if (step === 'create') return (await ask('POST', users, API_TOKEN, { access_key: key, name })) !== null;
      if (step === 'delete') return (await ask('DELETE', `${users}/${key}`, API_TOKEN)) !== null;
      return (await ask('POST', `${users}/${key}/reset`, API_TOKEN)) !== null;
    },
    // Each for itself: the list may miss what was reported in the last 200 ms.
    async counters() {
      const found = await Promise.all(
        [...REPORTED, ...MANAGED].map(async (key) => [key, await counterOf(key)] as const),
      );
      return new Map(found.flatMap(([key, present]) => (present === null ? [] : [[key, present] as const])));
    },
  };
}

function foundIn(data: JsonValue | undefined): Found {
  if (!isJsonObject(data)) return { name: null, bytes: 0 };
  return { name: typeof data.name === 'string' ? data.name : null, bytes: Number(data.bytes_up) };
}

/** An answer that is no success, which nothing here may get. */
class RefusedError extends Error {}

export function summaryText({ rounds, acknowledged, lost, doubled, takenFromMemory, faults }: KillSummary): string {
  const told = faults.map((fault) => `\n  ${fault}`).join('');
  return `${rounds} rounds, ${acknowledged} acknowledged, lost ${lost}, doubled ${doubled} (${takenFromMemory} acknowledged in memory alone were taken and sent again)${told}`;
}
