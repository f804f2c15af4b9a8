import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../free-ports.js';
import { apiOf, fileOf } from '../../stand-in/files.js';
import { type StandIn, startStandIn } from '../../stand-in/stand-in.js';
import { type Change, createExpectedKeys, type ExpectedKeys, type Seen } from '../expected-keys.js';
import { createFastClock } from './fast-time.js';
import { type FrontProcess, type FrontSettings, startFrontProcess } from './front-process.js';

/** Every line that was measured, and a version whose reload reads the root list alone. */
export const LINES = ['0.2.34', '0.2.35', '0.2.43', '0.2.48', '0.2.60', '0.2.86', '0.2.96', '0.3.8', '0.3.21'];

const HAS_ONE_SESSION: ReadonlySet<string> = new Set(['0.2.43', '0.2.48']);

/** How many times faster time goes, for server and Keyway alike. */
const FACTOR = 20;

/** Time for what waits to be settled and stored, as the server counts it. Milliseconds. */
const QUIET = 60_000;
/** The same where Keyway may first have to wait for a session: 30 s, and twice as long each time that it was taken soon. */
const QUIET_WITH_ONE_SESSION = 300_000;

/** How late the stand-in's reloads may come, as the server counts time: between the 5 s of a reload and the 7 s of a settled write. */
const MOST_STALL = 1_500;

const LOOK = 5;

/** How many writes a round waits for at least, and how often it looks for them. */
export const LEAST_ACKNOWLEDGED = 5;
const MOST_LOOKS = 1_000;

/** How long nothing had its turn in this process, in which the stand-in lives. Milliseconds of the real clock. */
function watchStalls(): { longest(): number; end(): void } {
  let longest = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last - LOOK);
    last = now;
  }, LOOK);
  return { longest: () => Math.round(longest), end: () => clearInterval(timer) };
}

export interface RoundsOptions {
  /** Below which each round has a folder of its own. */
  readonly folder: string;
  /** What `compileFront` gave. */
  readonly script: string;
  readonly rounds: number;
  readonly seed: number;
  readonly onRound?: (summary: RoundsSummary) => void;
}

/** What became of the rounds in front of servers of one speed. */
interface Speed {
  readonly rounds: number;
  readonly acknowledged: number;
  /** Keys made through Keyway that somebody deleted at the server soon after, and how many of these came back. */
  readonly deleted: number;
  readonly revived: number;
  readonly lost: number;
}

const NO_ROUND: Speed = { rounds: 0, acknowledged: 0, deleted: 0, revived: 0, lost: 0 };

function plus(left: Speed, right: Speed): Speed {
  return {
    rounds: left.rounds + right.rounds,
    acknowledged: left.acknowledged + right.acknowledged,
    deleted: left.deleted + right.deleted,
    revived: left.revived + right.revived,
    lost: left.lost + right.lost,
  };
}

export interface RoundsSummary {
  readonly rounds: number;
  /** In front of a server that is fast and loses none; the others are slow. */
  readonly fast: Speed;
  readonly slow: Speed;
  readonly acknowledged: number;
  /** Requests without an answer, or with one that says that the server is away. */
  readonly unanswered: number;
  readonly restarts: number;
  readonly kills: number;
  /** One sentence for each key that is not as it was acknowledged, or that came back where it may not, or unsaid. */
  readonly lost: readonly string[];
}

/** Plays so many rounds, one line after the other. */
export async function runRandomRounds(options: RoundsOptions): Promise<RoundsSummary> {
  let summary: RoundsSummary = {
    rounds: 0,
    fast: NO_ROUND,
    slow: NO_ROUND,
    acknowledged: 0,
    unanswered: 0,
    restarts: 0,
    kills: 0,
    lost: [],
  };
  for (let round = 0; round < options.rounds; round += 1) {
    const line = LINES[(options.seed + round) % LINES.length] ?? 'current';
    const so = await roundThatCounts(options, line, options.seed * 1000 + round);
    summary = {
      rounds: summary.rounds + 1,
      fast: plus(summary.fast, so.fast),
      slow: plus(summary.slow, so.slow),
      acknowledged: summary.acknowledged + so.acknowledged,
      unanswered: summary.unanswered + so.unanswered,
      restarts: summary.restarts + so.restarts,
      kills: summary.kills + so.kills,
      lost: [...summary.lost, ...so.lost.map((each) => `${line}, round ${round}: ${each}`)],
    };
    options.onRound?.(summary);
  }
  return summary;
}

/** One round, from its beginning again where this machine was too busy to say anything by it. */
async function roundThatCounts(options: RoundsOptions, line: string, seed: number): Promise<RoundsSummary> {
  for (;;) {
    const folder = await mkdtemp(join(options.folder, 'round-'));
    const so = await runRound({ ...options, folder }, line, createRandom(seed));
    await rm(folder, { recursive: true, force: true });
    if (so !== null) return so;
  }
}

export function summaryText({
  rounds,
  fast,
  slow,
  acknowledged,
  unanswered,
  restarts,
  kills,
  lost,
}: RoundsSummary): string {
  const counts = `${acknowledged} acknowledged, ${unanswered} without an answer`;
  const speeds = [`fast: ${speedText(fast)}`, `slow: ${speedText(slow)}`].join('; ');
  return `${rounds} rounds: ${counts}, ${restarts} restarts of the server, Keyway killed ${kills} times; lost ${lost.length}; ${speeds}`;
}

function speedText({ rounds, acknowledged, deleted, revived, lost }: Speed): string {
  return `${rounds} rounds, ${acknowledged} acknowledged, lost ${lost}, ${deleted} deleted by others, ${revived} of these made again`;
}

/** Starts one, again where somebody else has just taken the one session of the server. */
async function startedFront(settings: FrontSettings, tries = 5): Promise<FrontProcess> {
  try {
    return await startFrontProcess(settings);
  } catch (error) {
    if (tries === 0 || !/session/.test(String(error))) throw error;
    return startedFront(settings, tries - 1);
  }
}

interface Round {
  readonly random: Random;
  readonly standIn: StandIn;
  readonly expected: ExpectedKeys;
  /** Each that was started. */
  readonly fronts: FrontProcess[];
  front: FrontProcess;
  /** Deleted by somebody else soon after they were made through Keyway. */
  readonly deleted: string[];
  acknowledged: number;
  unanswered: number;
  refused: number;
  isOver: boolean;
}

type Random = (below: number) => number;

/** Null where what is lost may be the fault of this machine. */
async function runRound(
  { folder, script }: RoundsOptions,
  line: string,
  random: Random,
): Promise<RoundsSummary | null> {
  const file = join(folder, 'server.jsonc');
  await writeFile(file, fileOf(line));
  // A fast server that is never restarted loses nothing: whatever is gone from it was deleted.
  const losesNone = random(3) === 0;
  const pauseMilliseconds = losesNone ? 0 : 1 + random(7);
  const clock = createFastClock(FACTOR);
  const seed = random(1000);
  const port = await freePort();
  const standIn = await startStandIn({
    line,
    file,
    port,
    reloadFactor: FACTOR,
    clock,
    seed,
    pauseMilliseconds,
  });
  const url = standIn.origin + standIn.paths.base;
  // What a call takes on a busy machine tells nothing of the server.
  const settings = { script, folder, url, factor: FACTOR, callFactor: losesNone ? 0 : 10 * FACTOR };
  const stalls = watchStalls();
  const first = await startedFront(settings);
  const round: Round = {
    random,
    fronts: [first],
    deleted: [],
    standIn,
    expected: createExpectedKeys(),
    front: first,
    acknowledged: 0,
    unanswered: 0,
    refused: 0,
    isOver: false,
  };
  let restarts = 0;
  let kills = 0;
  try {
    const lanes = ['a', 'b', 'c'].map((lane) => ownLane(round, lane));
    const strangers = [strangerLane(round), deletingLane(round)];
    for (let event = 0; event < 4; event += 1) {
      const what = losesNone ? 2 + random(2) : random(4);
      await sleep(200 + random(600));
      if (what < 2) {
        await standIn.restart();
        restarts += 1;
      } else if (what === 2) {
        await round.front.kill();
        round.front = await startedFront(settings);
        round.fronts.push(round.front);
        kills += 1;
      }
    }
    // However slow this machine is: nothing is lost of what was never acknowledged.
    for (let looks = 0; round.acknowledged < LEAST_ACKNOWLEDGED && looks < MOST_LOOKS; looks += 1) await sleep(50);
    round.isOver = true;
    await Promise.all([...lanes, ...strangers]);
    await sleep((HAS_ONE_SESSION.has(line) ? QUIET_WITH_ONE_SESSION : QUIET) / FACTOR);
    const revived = revivedKeys(round);
    const lost = [...differences(round, 'while it runs'), ...unsaid(round, revived, losesNone)];
    await standIn.restart();
    await sleep(QUIET / FACTOR / 4);
    lost.push(...differences(round, 'after a restart'));
    // A server that reads its file seconds later than it says loses what no rule could save: then this machine was too busy.
    const late = stalls.longest() + Math.round(standIn.longestLook);
    const isVoid = lost.length > 0 && late * FACTOR > MOST_STALL;
    if (isVoid) process.stdout.write(`a round of ${line} does not count: the stand-in was ${late} ms late\n`);
    if (isVoid) return null;
    const { acknowledged, deleted } = round;
    const speed = { rounds: 1, acknowledged, deleted: deleted.length, revived: revived.length, lost: lost.length };
    return {
      rounds: 1,
      fast: losesNone ? speed : NO_ROUND,
      slow: losesNone ? NO_ROUND : speed,
      acknowledged,
      unanswered: round.unanswered,
      restarts,
      kills,
      lost,
    };
  } finally {
    round.isOver = true;
    stalls.end();
    await round.front.kill();
    await standIn.close();
  }
}

/** What is not as it was acknowledged. */
function differences({ standIn, expected }: Round, when: string): string[] {
  const held = new Map(standIn.keys().map((key) => [key.accessKey, key]));
  return expected.keys.flatMap((key) => {
    const found = held.get(key);
    const seen = found === undefined ? null : { name: found.name, limit: limitOf(found.limitBytes) };
    if (expected.mayBe(key, seen)) return [];
    return [`${key} is ${JSON.stringify(seen)} ${when}, expected one of ${expected.describe(key)}`];
  });
}

const limitOf = (limit: bigint | null) => (limit === null ? null : Number(limit));

/** Refusals after which nothing has changed. */
const NOT_DONE = /not found|does not let Keyway in|not reached/i;

/** Writes keys of its own through Keyway, one after the other. */
async function ownLane(round: Round, lane: string): Promise<void> {
  const { random, expected } = round;
  for (let n = 0; !round.isOver; n += 1) {
    const key = `${lane}-${random(6)}`;
    const [name, limit] = [random(2) === 1 ? `name ${n}` : null, random(2) === 0 ? null : n];
    const { method, path, body, change } = writeOf(random(8), key, name, limit);
    const asked = expected.asks(key, change);
    const answer = await round.front.call(method, path, body);
    if (answer === null) round.unanswered += 1;
    else if (answer.ok) {
      asked.answered();
      round.acknowledged += 1;
    } else if (NOT_DONE.test(answer.error ?? '')) {
      asked.refused();
      round.refused += 1;
    } else {
      // It may have happened: the server said that it did not store it, or did not answer.
      round.unanswered += 1;
    }
    await sleep(random(40));
  }
}

interface Write {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly change: Change;
}

function writeOf(choice: number, key: string, name: string | null, limit: number | null): Write {
  const path = `/users/${key}`;
  const record = { name, limit_bytes: limit };
  if (choice < 3)
    return { method: 'POST', path: '/users', body: { access_key: key, ...record }, change: () => ({ name, limit }) };
  if (choice < 5) return { method: 'PUT', path, body: record, change: ifThere(() => ({ name, limit })) };
  if (choice < 6) {
    const change = ifThere((before) => ({ name: before.name, limit }));
    return { method: 'PUT', path: `${path}/limit`, body: { limit_bytes: limit }, change };
  }
  return { method: 'DELETE', path, change: () => null };
}

const ifThere =
  (change: (before: NonNullable<Seen>) => Seen): Change =>
  (before) =>
    before === null ? null : change(before);

/** Somebody else, who writes other keys through the server's own API, and now and then signs in. */
async function strangerLane(round: Round): Promise<void> {
  const { random, standIn } = round;
  const api = apiOf(standIn);
  while (!round.isOver) {
    const key = `stranger-${random(5)}`;
    // Where there is one session, a stranger who signs in signs Keyway out, and is signed out by it.
    const call = HAS_ONE_SESSION.has(standIn.version) && random(6) > 0 ? api.once : api;
    const asked = random(2) === 0 ? call('POST', '/users', { access_key: key }) : call('DELETE', `/users/${key}`);
    await asked.catch(() => null);
    await sleep(50 + random(300));
  }
}

/** Somebody else, who deletes keys at the server soon after they were made through Keyway. */
async function deletingLane(round: Round): Promise<void> {
  const { random, standIn } = round;
  // From 0.3.7 on the server itself revives what stands in an inbound.
  if (/^0\.3\.([7-9]|\d\d)/.test(standIn.version)) return;
  const api = HAS_ONE_SESSION.has(standIn.version) ? apiOf(standIn).once : apiOf(standIn);
  for (let n = 0; !round.isOver; n += 1) {
    const key = `deleted-${n}`;
    const made = await round.front.call('POST', '/users', { access_key: key, name: `of ${key}` });
    await sleep(random(200));
    const deleted = made?.ok === true ? await api('DELETE', `/users/${key}`).catch(() => null) : null;
    if (deleted?.ok === true) round.deleted.push(key);
    await sleep(50 + random(100));
  }
}

function revivedKeys({ standIn, deleted }: Round): readonly string[] {
  const held = new Set(standIn.keys().map(({ accessKey }) => accessKey));
  return deleted.filter((key) => held.has(key));
}

/** What came back although the server had lost nothing, or was not said. */
function unsaid({ fronts }: Round, revived: readonly string[], losesNone: boolean): readonly string[] {
  if (losesNone) return revived.map((key) => `${key} was deleted by somebody else, and came back`);
  const lines = fronts.flatMap(({ log }) => log).filter(({ message }) => /made again$/.test(message));
  const said = lines.reduce((sum, { count = 1 }) => sum + count, 0);
  return said >= revived.length ? [] : [`${revived.length} deletions of others came back, and ${said} were said`];
}

/** Numbers that look like chance, the same for the same seed: a linear congruence (Numerical Recipes). */
export function createRandom(seed: number): Random {
  // Seeds that follow one another are to begin apart (MurmurHash3's last step).
  let state = Math.imul(seed ^ (seed >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35) >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
