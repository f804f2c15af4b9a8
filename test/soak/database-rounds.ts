import { setTimeout as pause } from 'node:timers/promises';
import { createChooser } from '../homes/file/counters/store-story.js';
import type { Told } from './database-account.js';
import { createClients } from './database-clients.js';
import { happen } from './database-faults.js';
import { type Chaos, type ChaosGateway, startChaos, TOKEN } from './database-gateways.js';

/** What rounds of chaos have shown. */
export interface ChaosSummary {
  readonly rounds: number;
  /** Requests that changed something, by what became of them. */
  readonly acknowledged: number;
  readonly refused: number;
  readonly unknown: number;
  /** How often each fault happened. */
  readonly happened: ReadonlyMap<string, number>;
  readonly faults: readonly string[];
}

export interface RoundsOptions {
  /** So many, or as many as so many minutes take. */
  readonly until: { readonly rounds: number } | { readonly minutes: number };
  readonly seed: number;
  /** Whether a round also has a fault that lasts for many seconds, clocks that are hours off, and a standby. */
  readonly nemesis?: boolean;
  readonly onRound?: (summary: ChaosSummary) => void;
}

const GATEWAYS = 3;
const CLIENTS = 30;
const FAULTS_A_ROUND = 6;
/** Milliseconds within which gateways that report healthy show the same, on a machine that has more to do. */
const AGREE = 20_000;
const HEALTHY = 60_000;
const NOTICE = 30_000;
/** A gateway knows what became of a write within ten seconds. */
const SETTLING = 11_000;
const CONFIGURATION = {
  mode: 'server',
  access_keys: Array.from({ length: 10 }, (_, n) => `counted-${n}`),
  outbound: { enabled: true, rules: [] },
};

/** Puts gateways and their database under load and everything that may go wrong, and holds what is left against what was acknowledged. */
export async function runChaosRounds({ until, seed, nemesis = false, onRound }: RoundsOptions): Promise<ChaosSummary> {
  const choose = createChooser(seed);
  const random = () => choose(1_000_000) / 1_000_000;
  const clock = () => (nemesis ? choose(25) - 12 : 0);
  const chaos = await startChaos({ count: GATEWAYS, withStandby: nemesis, clock });
  const { gateways } = chaos;
  const end = 'minutes' in until ? performance.now() + until.minutes * 60_000 : null;
  const isOver = (done: number) => (end === null ? 'rounds' in until && done >= until.rounds : performance.now() > end);
  const faults: string[] = [];
  const clients = createClients({ gateways, clients: CLIENTS, random });
  const happened = new Map<string, number>();
  const note = (name: string) => happened.set(name, (happened.get(name) ?? 0) + 1);
  /** To this gateway, or to the database that all have. */
  const happenLong = async (held: number | null) => {
    if (held !== null) note(await happen('long', { ...chaos, gateways: gateways.slice(held, held + 1) }, choose));
  };
  let done = 0;
  const summary = (): ChaosSummary => ({ rounds: done, ...clients.counts(), happened, faults });
  try {
    await put(gateways[0], CONFIGURATION);
    for (let round = 1; !isOver(done); round += 1) {
      const withCopy = round % 3 === 2;
      const working = clients.run();
      const held = nemesis ? choose(GATEWAYS) : null;
      const others = gateways.filter((_, at) => at !== held);
      let lasts = held !== null;
      const long = happenLong(held).finally(() => {
        lasts = false;
      });
      for (let n = 0; n < FAULTS_A_ROUND || lasts; n += 1) {
        await pause(random() * 300);
        note(await happen('brief', { ...chaos, gateways: others }, choose));
      }
      await long;
      clients.stop();
      await working;
      // What a gateway that stood still goes on with then is over.
      if (nemesis) await pause(SETTLING);
      const told = await settled(gateways);
      const wrong = [...told.faults, ...clients.account.faults(told)];
      faults.push(...wrong.map((words) => `round ${round}: ${words}`));
      if (withCopy)
        faults.push(...(await older(chaos, clients)).map((words) => `round ${round}, older copy: ${words}`));
      done = round;
      onRound?.(summary());
    }
    return summary();
  } finally {
    await chaos.close();
  }
}

/** Acknowledged changes may be lost by it, and it is said. */
async function older(chaos: Chaos, clients: ReturnType<typeof createClients>): Promise<readonly string[]> {
  const { gateways } = chaos;
  await chaos.copy();
  await untilHealthy(gateways);
  const working = clients.run();
  await pause(400);
  clients.stop();
  await working;
  const before = gateways.map(lossesSaid);
  await chaos.putCopy();
  // Until then they show, all of them alike, what was lost.
  const isSilent = (gateway: ChaosGateway, at: number) => lossesSaid(gateway) === before[at];
  for (const end = performance.now() + NOTICE; gateways.some(isSilent) && performance.now() < end; ) await pause(30);
  const silent = gateways.filter(isSilent);
  const told = await settled(gateways);
  clients.account.restart(told);
  return [...told.faults, ...silent.map(({ api }) => `${api} has not said that the database lost writes`)];
}

function lossesSaid(gateway: ChaosGateway): number {
  return gateway.said().filter((words) => words.includes('has lost writes')).length;
}

/** What the gateways show once they report healthy: the same bytes, in time. */
async function settled(gateways: readonly ChaosGateway[]): Promise<Told & { readonly faults: readonly string[] }> {
  await untilHealthy(gateways);
  const end = performance.now() + AGREE;
  for (;;) {
    const lists = await Promise.all(gateways.map((gateway) => read(gateway, '/users')));
    const configurations = await Promise.all(gateways.map((gateway) => read(gateway, '/server/config')));
    const isSame = new Set(lists).size === 1 && new Set(configurations).size === 1;
    if (isSame || performance.now() > end) {
      const [list = '{"data":[]}'] = lists;
      const [configuration = '{"data":{}}'] = configurations;
      const rules = await read(gateways[0], '/router/rules');
      return {
        users: JSON.parse(list).data,
        rules: JSON.parse(rules).data,
        configuration: JSON.parse(configuration).data,
        faults: isSame ? [] : [`lists or configurations differ: ${differences(lists, configurations)}`],
      };
    }
    await pause(50);
  }
}

function differences(lists: readonly string[], configurations: readonly string[]): string {
  const what = new Set(lists).size === 1 ? configurations : lists;
  const [one = '', other = ''] = [...new Set(what)];
  let at = 0;
  while (one[at] === other[at]) at += 1;
  return `${one.slice(Math.max(0, at - 80), at + 60)} against ${other.slice(Math.max(0, at - 80), at + 60)}`;
}

async function untilHealthy(gateways: readonly ChaosGateway[]): Promise<void> {
  for (const end = performance.now() + HEALTHY; ; await pause(50)) {
    const answers = await Promise.all(
      gateways.map(({ ops }) =>
        fetch(`${ops}/healthz`)
          .then((a) => a.json())
          .catch(() => null),
      ),
    );
    if (answers.every((answer) => (answer as { readonly status?: unknown } | null)?.status === 'healthy')) return;
    if (performance.now() > end) throw new Error(`the gateways do not become healthy: ${JSON.stringify(answers)}`);
  }
}

/** A connection to the database that was cut may show at its next use, so that a gateway is asked once for each that it has. */
async function read(gateway: ChaosGateway | undefined, path: string, tries = 5): Promise<string> {
  const answer = await fetch(`${gateway?.api}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } });
  const text = await answer.text();
  if (answer.ok) return text;
  if (text.includes('Connection terminated') && tries > 1) return read(gateway, path, tries - 1);
  throw new Error(`${path} is answered ${answer.status}: ${text}`);
}

async function put(gateway: ChaosGateway | undefined, configuration: object): Promise<void> {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const body = JSON.stringify(configuration);
  const answer = await fetch(`${gateway?.api}/server/config`, { method: 'PUT', headers, body });
  if (!answer.ok) throw new Error(`the configuration is not taken: ${await answer.text()}`);
}
