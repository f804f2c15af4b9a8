import { setImmediate as nextTurn } from 'node:timers/promises';
import { DomainError } from '../../../core/errors.js';
import { type CounterTable, createCounterTable } from '../../../core/keys/counter-table.js';
import type { CounterValues, KeyRegistry, UsageEntry } from '../../../core/keys/types.js';
import type { ClockPort, LogPort } from '../../../core/ports.js';
import type { CountersOutcome, CountersPost } from '../../../core/posted-counters.js';
import { createTurns } from '../../../core/turns.js';
import { grown, NOTHING, since } from './increments.js';
import { comparedRun, type KnownRun, runAt, sameRun } from './source-run.js';

/** A tunnel server that posts its counters, without them. */
export interface Source {
  readonly name: string;
  /** A time in it is in milliseconds since the epoch. */
  readonly run: KnownRun;
  /** The number of the last post that was begun. */
  readonly number: bigint;
  /** Whether that post is not taken to its end: then it may come again. */
  readonly isBegun: boolean;
  /** Whether a key without a base gets one without being counted: no post has been taken to its end yet. */
  readonly isBaseline: boolean;
  readonly connections: CountersPost['connections'];
  /** Milliseconds since the epoch. */
  readonly postedAt: number;
  /** How many runs it has had. */
  readonly runs: number;
  /** The first of these runs whose bases still count: from there on it has kept its counters. */
  readonly comparedFrom: number;
}

/** What the next post of a source is compared with, for one key. */
export interface Base extends CounterValues {
  readonly source: string;
  readonly accessKey: string;
  /** Of the key's connections those that are this source's. */
  readonly connections: bigint;
  /** The run of the source, by its count, in which it was posted last. */
  readonly runs: number;
}

/** What a store has to follow of one source. */
export interface SourceChange {
  /** Everything of before is forgotten. */
  readonly isForgotten: boolean;
  readonly accessKeys: ReadonlySet<string>;
}

/** The counting of counters that tunnel servers post as they stand, and what they are compared with. */
export interface Sources {
  /**
   * Counts what a post has more than the bases, some keys at a time: each with its base in one turn of the event loop, so
   * that a post which a crash has cut off can come again. Posts of one source go one after the other.
   */
  take(post: CountersPost): Promise<CountersOutcome>;
  /** Keys of sources that never lower their connections are not online once they have stood still for 30 s. */
  lower(): Promise<void>;
  /** Forgets sources that have not posted since. Milliseconds since the epoch. */
  forgetSilent(until: number): number;

  source(name: string): Source | null;
  base(name: string, accessKey: string): Base | null;
  all(): readonly Source[];
  bases(name: string): Iterable<Base>;
  /** Sources with what changed of them since the last call. */
  takeChanges(): ReadonlyMap<string, SourceChange>;
  /** Takes over what was kept; no change. */
  load(source: Source): void;
  loadBase(base: Base): void;
  loadForgotten(name: string): void;
  /** Replaces everything. */
  restore(sources: Iterable<Source>, bases: Iterable<Base>): void;
}

/** Keys that are counted in one turn of the event loop. */
const AT_ONCE = 2_000;
/** Design: "Counters as they stand". Milliseconds. */
const ONLINE_AFTER_MOVEMENT = 30_000;
export const MOST_SOURCES = 1_000;
/** Bases of one source; they stay while a run lasts, also of keys that are not posted any more. */
const MOST_BASES = 2_000_000;
const ONE = 1n;

/** A source with its bases, a row of the table each. */
interface Held {
  source: Source;
  readonly slots: Map<string, number>;
  readonly table: CounterTable;
  /** When keys of a source that never lowers its connections moved last, by the monotonic clock. */
  readonly moved: Map<string, number>;
}

export interface SourcesOptions {
  readonly keys: Pick<KeyRegistry, 'get'>;
  /** Adds increments to the keys' counters and sets connections, in this turn of the event loop. */
  readonly count: (entries: readonly UsageEntry[]) => void;
  readonly clock: ClockPort;
  /** Whether sources keep their counters over a restart; null, as when left out, where nobody has said so. */
  readonly keepsCounters?: boolean | null;
  readonly log?: Pick<LogPort, 'warn'>;
}

export function createSources({ keys, count, clock, keepsCounters = null, log }: SourcesOptions): Sources {
  const held = new Map<string, Held>();
  const turns = createTurns();
  let changes = new Map<string, { isForgotten: boolean; accessKeys: Set<string> }>();

  function changeOf(name: string): { isForgotten: boolean; accessKeys: Set<string> } {
    const change = changes.get(name) ?? { isForgotten: false, accessKeys: new Set<string>() };
    changes.set(name, change);
    return change;
  }

  /** A time of this process's rising clock as one since the epoch, and back: what is kept outlives the process. */
  const sinceEpoch = (time: number): number => time - clock.monotonic() + clock.now();

  function hold(source: Source): Held {
    const present = held.get(source.name);
    if (present !== undefined) {
      present.source = source;
      return present;
    }
    const made: Held = { source, slots: new Map(), table: createCounterTable(), moved: new Map() };
    held.set(source.name, made);
    return made;
  }

  /** Null where there is none that counts. */
  function valuesOf({ source, slots, table }: Held, accessKey: string): KnownValues | null {
    const slot = slots.get(accessKey);
    if (slot === undefined) return null;
    const runs = table.createdAt(slot);
    return runs < source.comparedFrom ? null : { ...table.read(slot), runs };
  }

  function setBase(one: Held, accessKey: string, { runs, ...values }: KnownValues): void {
    const { source, slots, table } = one;
    const slot = slots.get(accessKey) ?? table.take();
    slots.set(accessKey, slot);
    table.write(slot, values);
    table.setCreatedAt(slot, runs);
    changeOf(source.name).accessKeys.add(accessKey);
  }

  /** No change for a store: it is of a run before. */
  function dropBase({ slots, table }: Held, accessKey: string): void {
    const slot = slots.get(accessKey);
    if (slot === undefined) return;
    table.free(slot);
    slots.delete(accessKey);
  }

  function connectionsOf(accessKey: string): bigint {
    let sum = 0n;
    for (const one of held.values()) sum += valuesOf(one, accessKey)?.connections ?? 0n;
    return sum;
  }

  /** Counts one key and moves its base; null where nothing is to be told of it. */
  function counted(one: Held, posted: UsageEntry): UsageEntry | null {
    const { accessKey, bytesUp, bytesDown } = posted;
    const { source } = one;
    const { runs } = source;
    const known = valuesOf(one, accessKey);
    const isOfRun = known === null || known.runs === runs;
    const isCounted = known !== null || !source.isBaseline;
    const increment = isCounted ? (isOfRun ? since : grown)(known ?? NOTHING, posted) : NOTHING;
    const before = known?.connections ?? 0n;
    const isMoving = increment.bytesUp > 0n || increment.bytesDown > 0n;
    if (source.connections === 'total' && isMoving) one.moved.set(accessKey, clock.monotonic());
    const total = isMoving || one.moved.has(accessKey) ? ONE : 0n;
    const connections = source.connections === 'total' ? total : (posted.connections ?? before);
    const isSame = known !== null && known.bytesUp === bytesUp && known.bytesDown === bytesDown;
    if (isSame && isOfRun && connections === before) return null;
    setBase(one, accessKey, { bytesUp, bytesDown, connections, runs });
    if (!isMoving && connections === before) return null;
    return { accessKey, ...increment, connections: connections === before ? null : connectionsOf(accessKey) };
  }

  /** Yields between pieces, so that a post of few keys is in a batch of the store whole or not at all. */
  function* takeNow(post: CountersPost): InTurns<CountersOutcome> {
    const run = runAt(post.run, clock.monotonic());
    const present = held.get(post.source);
    const keeps = yield* keepsOver(present, run, post);
    if (held.get(post.source) !== present) return yield* takeNow(post);
    const begun = begin(post, run, keeps);
    if (begun === 'ended') return { kind: 'ended' };
    if (begun === 'repeated') return { kind: 'repeated', unknownKeys: unknownOf(post.counters) };
    const { isBaseline } = begun.source;
    const unknownKeys: string[] = [];
    for (let from = 0; from < post.counters.length; from += AT_ONCE) {
      if (from > 0) yield;
      // A backup was restored meanwhile: what has been counted of the post is gone, and so are its bases.
      if (held.get(post.source) !== begun) return yield* takeNow(post);
      const some = post.counters.slice(from, from + AT_ONCE);
      count(some.flatMap((posted) => counted(begun, posted) ?? []));
      unknownKeys.push(...unknownOf(some));
    }
    yield* sweep(begun, post);
    begun.source = { ...begun.source, isBegun: false, isBaseline: false };
    changeOf(post.source);
    return { kind: isBaseline ? 'baseline' : 'counted', unknownKeys };
  }

  /** What became of the source with the first word of the post. From here on an earlier one counts for nothing. */
  function begin(post: CountersPost, posted: KnownRun, keeps: boolean): Held | 'ended' | 'repeated' {
    const { source: name, number, connections } = post;
    const present = held.get(name);
    const now = { name, number, connections, isBegun: true, postedAt: clock.now() };
    if (present === undefined) {
      if (held.size >= MOST_SOURCES)
        throw refused('source', `the name of one of the ${MOST_SOURCES} sources that there are`);
      return heldFrom({ ...now, run: posted, isBaseline: !post.isFromZero, runs: 1, comparedFrom: 1 }, post);
    }
    const { source } = present;
    const known = source.run;
    const compared = comparedRun(known, posted);
    if (compared === 'ended') return 'ended';
    if (compared === 'later') {
      const runs = source.runs + 1;
      // A run that goes on from an unfinished baseline has none for some keys either.
      const from = keeps ? source : { isBaseline: false, comparedFrom: runs };
      return heldFrom(
        { ...now, run: posted, isBaseline: from.isBaseline, runs, comparedFrom: from.comparedFrom },
        post,
      );
    }
    if (number < source.number || (number === source.number && !source.isBegun)) return 'repeated';
    const { isBaseline, runs, comparedFrom } = source;
    return heldFrom({ ...now, run: sameRun(known, posted), isBaseline, runs, comparedFrom }, post);
  }

  /** Whether a source whose first post of a run this is has kept its counters, for the whole of it; false in any other post. */
  function* keepsOver(one: Held | undefined, posted: KnownRun, post: CountersPost): InTurns<boolean> {
    if (one === undefined || comparedRun(one.source.run, posted) !== 'later') return false;
    if (post.restart !== null) return post.restart === 'kept';
    if (keepsCounters !== null) return keepsCounters;
    const sums = { before: 0n, now: 0n };
    for (const [at, { accessKey, bytesUp, bytesDown }] of post.counters.entries()) {
      if (at > 0 && at % AT_ONCE === 0) yield;
      const known = valuesOf(one, accessKey);
      if (known === null) continue;
      sums.before += known.bytesUp + known.bytesDown;
      sums.now += bytesUp + bytesDown;
    }
    return guessed(post.source, sums);
  }

  function guessed(source: string, { before, now }: { readonly before: bigint; readonly now: bigint }): boolean {
    const keeps = now * 2n >= before;
    const restart = keeps ? 'kept' : 'zero';
    log?.warn({ source, restart, before: before.toString(), now: now.toString() }, GUESSED);
    return keeps;
  }

  function heldFrom(source: Source, { counters }: CountersPost): Held {
    const bases = (held.get(source.name)?.slots.size ?? 0) + counters.length;
    if (bases > MOST_BASES) throw refused('counters', `at most ${MOST_BASES} keys of one source`);
    const one = hold(source);
    if (source.connections === 'present') one.moved.clear();
    changeOf(source.name);
    return one;
  }

  /**
   * Drops what is left of runs before, and connections of keys that a whole post does not have. Such a key is gone at the
   * source: if it comes again, it has begun anew in this run.
   */
  function* sweep(one: Held, { isWhole, counters }: CountersPost): InTurns<void> {
    const posted = isWhole ? new Set(counters.map(({ accessKey }) => accessKey)) : null;
    const isGone = (accessKey: string): boolean => posted !== null && !posted.has(accessKey);
    const left: string[] = [];
    for (const [accessKey, slot] of one.slots) {
      const runs = one.table.createdAt(slot);
      const isBefore = runs < one.source.runs;
      const isDue = runs < one.source.comparedFrom || (isBefore && isGone(accessKey));
      if (isDue || ((isBefore || isGone(accessKey)) && one.table.hasConnections(slot))) left.push(accessKey);
    }
    yield* inPieces(left, (accessKey) => {
      const values = valuesOf(one, accessKey);
      one.moved.delete(accessKey);
      if (values === null) dropBase(one, accessKey);
      else setBase(one, accessKey, { ...values, connections: 0n, ...(isGone(accessKey) && { runs: one.source.runs }) });
    });
  }

  /** Changes what these keys have in connections, and tells the registry. */
  function* inPieces(accessKeys: readonly string[], change: (accessKey: string) => void): InTurns<void> {
    for (let from = 0; from < accessKeys.length; from += AT_ONCE) {
      if (from > 0) yield;
      const some = accessKeys.slice(from, from + AT_ONCE);
      for (const accessKey of some) change(accessKey);
      tellConnections(some);
    }
  }

  function tellConnections(accessKeys: readonly string[]): void {
    count(accessKeys.map((accessKey) => ({ accessKey, ...NOTHING, connections: connectionsOf(accessKey) })));
  }

  function unknownOf(counters: readonly UsageEntry[]): readonly string[] {
    return counters.flatMap(({ accessKey }) => (keys.get(accessKey) === undefined ? [accessKey] : []));
  }

  function* lowerNow(one: Held): InTurns<void> {
    const until = clock.monotonic() - ONLINE_AFTER_MOVEMENT;
    const still = [...one.moved].flatMap(([accessKey, at]) => (at <= until ? [accessKey] : []));
    yield* inPieces(still, (accessKey) => {
      one.moved.delete(accessKey);
      const values = valuesOf(one, accessKey);
      if (values !== null) setBase(one, accessKey, { ...values, connections: 0n });
    });
  }

  function forget(name: string): void {
    const one = held.get(name);
    if (one === undefined) return;
    held.delete(name);
    tellConnections([...one.slots].flatMap(([accessKey, slot]) => (one.table.hasConnections(slot) ? [accessKey] : [])));
    changes.set(name, { isForgotten: true, accessKeys: new Set() });
  }

  function load(source: Source): void {
    const { run } = source;
    const offset = clock.monotonic() - clock.now();
    hold(run.kind === 'epoch' ? source : { ...source, run: { ...run, startedAt: run.startedAt + offset } });
  }

  function loadBase({ source: name, accessKey, runs, ...values }: Base): void {
    const one = held.get(name);
    if (one === undefined) return;
    const slot = one.slots.get(accessKey) ?? one.table.take();
    one.slots.set(accessKey, slot);
    one.table.write(slot, values);
    one.table.setCreatedAt(slot, runs);
    // Since when it has stood still, nobody knows.
    if (one.source.connections === 'total' && values.connections > 0n) one.moved.set(accessKey, clock.monotonic());
  }

  const shown = ({ source }: Held): Source => {
    const { run } = source;
    return run.kind === 'epoch' ? source : { ...source, run: { ...run, startedAt: sinceEpoch(run.startedAt) } };
  };

  function base(name: string, accessKey: string): Base | null {
    const one = held.get(name);
    const values = one === undefined ? null : valuesOf(one, accessKey);
    return values === null ? null : { source: name, accessKey, ...values };
  }

  return {
    take: (post) => turns.take(post.source, () => runInTurns(takeNow(post))),
    async lower() {
      for (const [name, one] of held) await turns.take(name, () => runInTurns(lowerNow(one)));
    },
    forgetSilent(until) {
      const silent = [...held.values()].filter(({ source }) => source.postedAt <= until);
      for (const { source } of silent) forget(source.name);
      return silent.length;
    },
    source(name) {
      const one = held.get(name);
      return one === undefined ? null : shown(one);
    },
    base,
    all: () => [...held.values()].map(shown),
    *bases(name) {
      for (const accessKey of held.get(name)?.slots.keys() ?? []) {
        const one = base(name, accessKey);
        if (one !== null) yield one;
      }
    },
    takeChanges() {
      const taken = changes;
      changes = new Map();
      return taken;
    },
    load,
    loadBase,
    loadForgotten: (name) => {
      held.delete(name);
    },
    restore(sources, bases) {
      for (const name of held.keys()) changes.set(name, { isForgotten: true, accessKeys: new Set() });
      held.clear();
      for (const source of sources) {
        load(source);
        changeOf(source.name);
      }
      for (const one of bases) {
        loadBase(one);
        changeOf(one.source).accessKeys.add(one.accessKey);
      }
    },
  };
}

/** Work that lets others have their turn of the event loop wherever it yields, and nowhere else. */
type InTurns<T> = Generator<void, T>;

async function runInTurns<T>(work: InTurns<T>): Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    await nextTurn();
  }
}

/** A base, and the run in which it was posted. */
type KnownValues = CounterValues & Pick<Base, 'runs'>;

const GUESSED =
  'a source was started anew, and nobody said whether it keeps its counters over that: this goes by their sums. "restart" in its posts says it, or --server-version';

function refused(place: string, expected: string): DomainError {
  return new DomainError('invalidBody', `${place}: expected ${expected}`);
}
