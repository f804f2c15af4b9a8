import { DomainError } from '../../../core/errors.js';
import { type CounterTable, createCounterTable } from '../../../core/keys/counter-table.js';
import type { KeyRegistry } from '../../../core/keys/registry.js';
import type { CounterValues, UsageEntry } from '../../../core/keys/types.js';
import { PerKeyQueue } from '../../../core/per-key-queue.js';
import type { ClockPort, LogPort } from '../../../core/ports.js';
import type { CountersOutcome, CountersPost } from '../../../core/posted-counters.js';
import { inTurns, type Steps } from '../../../core/steps.js';
import { comparedRun, type KnownRun, keptRun, runAt, sameRun } from './source-run.js';

/** A tunnel server that posts its counters, without them. */
export interface Source {
  readonly name: string;
  /** A time in it is in milliseconds since the epoch. */
  readonly run: KnownRun;
  /** The number of the last post that was begun. */
  readonly number: bigint;
  /** True until that post is taken to its end; it may come again. */
  readonly isBegun: boolean;
  /** A key without a base gets one without being counted: no post has been taken to its end yet. */
  readonly isBaseline: boolean;
  readonly connections: CountersPost['connections'];
  /** Milliseconds since the epoch. */
  readonly postedAt: number;
  /** The count of its runs. */
  readonly runs: number;
  /** The first of these runs whose bases still count: from there on it has kept its counters. */
  readonly comparedFrom: number;
}

/** The counters of one key that the next post of a source is compared with. */
export interface Base extends CounterValues {
  readonly source: string;
  readonly accessKey: string;
  /** The key's connections that are this source's. */
  readonly connections: bigint;
  /** The run of the source, by its count, in which it was posted last. */
  readonly runs: number;
}

/** The changes of one source that a store has to follow. */
export interface SourceChange {
  /** Everything of before is forgotten. */
  readonly isForgotten: boolean;
  readonly accessKeys: ReadonlySet<string>;
}

/** Keys that are counted in one turn of the event loop. */
const AT_ONCE = 2_000;
/** Design: "Counters as they stand". Milliseconds. */
const ONLINE_AFTER_MOVEMENT = 30_000;
const MOST_SOURCES = 1_000;
/** Bases of one source; they stay while a run lasts, also of keys that are not posted any more. */
const MOST_BASES = 2_000_000;
const ONE = 1n;

/** A source with its bases, a row of the table each. */
interface Held {
  source: Source;
  readonly slots: Map<string, number>;
  readonly table: CounterTable;
  /** The last movements of keys of a source that never lowers its connections, by the monotonic clock. */
  readonly moved: Map<string, number>;
}

interface PostedCountersOptions {
  readonly keys: Pick<KeyRegistry, 'get'>;
  /** Adds increments to the keys' counters and sets connections, in this turn of the event loop. */
  readonly count: (entries: readonly UsageEntry[]) => void;
  readonly clock: ClockPort;
  /** Sources keep their counters over a restart; null, as when left out, where nobody has said so. */
  readonly keepsCounters?: boolean | null;
  readonly log?: Pick<LogPort, 'warn'>;
}

/** The counting of counters that tunnel servers post as they stand, and the bases that posts are compared with. */
export class PostedCounters {
  readonly #options: PostedCountersOptions;
  readonly #held = new Map<string, Held>();
  readonly #queue = new PerKeyQueue();
  #changes = new Map<string, { isForgotten: boolean; accessKeys: Set<string> }>();

  constructor(options: PostedCountersOptions) {
    this.#options = options;
  }

  /**
   * Counts what a post has more than the bases, some keys at a time: each with its base in one turn of the event loop, so
   * that a post which a crash has cut off can come again. Posts of one source go one after the other.
   */
  take(post: CountersPost): Promise<CountersOutcome> {
    return this.#queue.run(post.source, () => inTurns(this.#take(post)));
  }

  /** Takes offline the keys of sources that never lower their connections once they have stood still for 30 s. */
  async lower(): Promise<void> {
    for (const [name, one] of this.#held) await this.#queue.run(name, () => inTurns(this.#lower(one)));
  }

  /** Forgets sources that have not posted since `until`, in milliseconds since the epoch; returns how many. */
  forgetSilent(until: number): number {
    const silent = [...this.#held.values()].filter(({ source }) => source.postedAt <= until);
    for (const { source } of silent) this.#forget(source.name);
    return silent.length;
  }

  source(name: string): Source | null {
    const one = this.#held.get(name);
    return one === undefined ? null : this.#withEpochTime(one.source);
  }

  base(name: string, accessKey: string): Base | null {
    const one = this.#held.get(name);
    const values = one === undefined ? null : valuesOf(one, accessKey);
    return values === null ? null : { source: name, accessKey, ...values };
  }

  all(): readonly Source[] {
    return [...this.#held.values()].map(({ source }) => this.#withEpochTime(source));
  }

  *bases(name: string): Generator<Base, void> {
    for (const accessKey of this.#held.get(name)?.slots.keys() ?? []) {
      const one = this.base(name, accessKey);
      if (one !== null) yield one;
    }
  }

  /** Returns the sources with what changed of them since the last call. */
  takeChanges(): ReadonlyMap<string, SourceChange> {
    const taken = this.#changes;
    this.#changes = new Map();
    return taken;
  }

  /** Takes a source over as it was kept; no change. */
  load(source: Source): void {
    const { run } = source;
    this.#hold(run.kind === 'epoch' ? source : { ...source, run: keptRun(run, this.#options.clock) });
  }

  /** Takes a base over as it was kept; no change. */
  loadBase({ source: name, accessKey, runs, ...values }: Base): void {
    const one = this.#held.get(name);
    if (one === undefined) return;
    write(one, accessKey, { ...values, runs });
    // Nobody knows since when it has stood still.
    if (one.source.connections === 'total' && values.connections > 0n)
      one.moved.set(accessKey, this.#options.clock.monotonic());
  }

  loadForgotten(name: string): void {
    this.#held.delete(name);
  }

  /** Replaces everything. */
  restore(sources: Iterable<Source>, bases: Iterable<Base>): void {
    for (const name of this.#held.keys()) this.#changes.set(name, { isForgotten: true, accessKeys: new Set() });
    this.#held.clear();
    for (const source of sources) {
      this.load(source);
      this.#changeOf(source.name);
    }
    for (const one of bases) {
      this.loadBase(one);
      this.#changeOf(one.source).accessKeys.add(one.accessKey);
    }
  }

  /** Yields between pieces, so that a post of few keys is in a batch of the store whole or not at all. */
  *#take(post: CountersPost): Steps<CountersOutcome> {
    const run = runAt(post.run, this.#options.clock.monotonic());
    const present = this.#held.get(post.source);
    const keeps = yield* this.#keepsOver(present, run, post);
    if (this.#held.get(post.source) !== present) return yield* this.#take(post);
    const begun = this.#begin(post, run, keeps);
    if (begun === 'ended') return { kind: 'ended' };
    if (begun === 'repeated') return { kind: 'repeated', unknownKeys: this.#unknownOf(post.counters) };
    const { isBaseline } = begun.source;
    const unknownKeys: string[] = [];
    for (let from = 0; from < post.counters.length; from += AT_ONCE) {
      if (from > 0) yield;
      // A backup was restored meanwhile: what has been counted of the post is gone, and so are its bases.
      if (this.#held.get(post.source) !== begun) return yield* this.#take(post);
      const some = post.counters.slice(from, from + AT_ONCE);
      this.#options.count(some.flatMap((posted) => this.#counted(begun, posted) ?? []));
      unknownKeys.push(...this.#unknownOf(some));
    }
    yield* this.#sweep(begun, post);
    begun.source = { ...begun.source, isBegun: false, isBaseline: false };
    this.#changeOf(post.source);
    return { kind: isBaseline ? 'baseline' : 'counted', unknownKeys };
  }

  /** Notes that a post has begun, so that an earlier one counts for nothing from here on. */
  #begin(post: CountersPost, posted: KnownRun, keeps: boolean): Held | 'ended' | 'repeated' {
    const { source: name, number, connections } = post;
    const present = this.#held.get(name);
    const now = { name, number, connections, isBegun: true, postedAt: this.#options.clock.now() };
    if (present === undefined) {
      if (this.#held.size >= MOST_SOURCES)
        throw refused('source', `the name of one of the ${MOST_SOURCES} sources that there are`);
      return this.#heldFrom({ ...now, run: posted, isBaseline: !post.isFromZero, runs: 1, comparedFrom: 1 }, post);
    }
    const { source } = present;
    const known = source.run;
    const compared = comparedRun(known, posted);
    if (compared === 'ended') return 'ended';
    if (compared === 'later') {
      const runs = source.runs + 1;
      // A run that goes on from an unfinished baseline has none for some keys either.
      const from = keeps ? source : { isBaseline: false, comparedFrom: runs };
      return this.#heldFrom(
        { ...now, run: posted, isBaseline: from.isBaseline, runs, comparedFrom: from.comparedFrom },
        post,
      );
    }
    if (number < source.number || (number === source.number && !source.isBegun)) return 'repeated';
    const { isBaseline, runs, comparedFrom } = source;
    return this.#heldFrom({ ...now, run: sameRun(known, posted), isBaseline, runs, comparedFrom }, post);
  }

  /** Judges by the first post of a run whether the source has kept its counters; false for any other post. */
  *#keepsOver(one: Held | undefined, posted: KnownRun, post: CountersPost): Steps<boolean> {
    if (one === undefined || comparedRun(one.source.run, posted) !== 'later') return false;
    if (post.restart !== null) return post.restart === 'kept';
    const { keepsCounters = null } = this.#options;
    if (keepsCounters !== null) return keepsCounters;
    const sums = { before: 0n, now: 0n };
    for (const [at, { accessKey, bytesUp, bytesDown }] of post.counters.entries()) {
      if (at > 0 && at % AT_ONCE === 0) yield;
      const known = valuesOf(one, accessKey);
      if (known === null) continue;
      sums.before += known.bytesUp + known.bytesDown;
      sums.now += bytesUp + bytesDown;
    }
    return this.#guessed(post.source, sums);
  }

  #guessed(source: string, { before, now }: { readonly before: bigint; readonly now: bigint }): boolean {
    const keeps = now * 2n >= before;
    const restart = keeps ? 'kept' : 'zero';
    this.#options.log?.warn({ source, restart, before: before.toString(), now: now.toString() }, GUESSED);
    return keeps;
  }

  #heldFrom(source: Source, { counters }: CountersPost): Held {
    const bases = (this.#held.get(source.name)?.slots.size ?? 0) + counters.length;
    if (bases > MOST_BASES) throw refused('counters', `at most ${MOST_BASES} keys of one source`);
    const one = this.#hold(source);
    if (source.connections === 'present') one.moved.clear();
    this.#changeOf(source.name);
    return one;
  }

  /** Moves the base of one key and returns the increment; null where there is nothing to count. */
  #counted(one: Held, posted: UsageEntry): UsageEntry | null {
    const { accessKey, bytesUp, bytesDown } = posted;
    const { source } = one;
    const { runs } = source;
    const known = valuesOf(one, accessKey);
    const isOfRun = known === null || known.runs === runs;
    const isCounted = known !== null || !source.isBaseline;
    const increment = isCounted ? (isOfRun ? since : grown)(known ?? NOTHING, posted) : NOTHING;
    const before = known?.connections ?? 0n;
    const isMoving = increment.bytesUp > 0n || increment.bytesDown > 0n;
    if (source.connections === 'total' && isMoving) one.moved.set(accessKey, this.#options.clock.monotonic());
    const total = isMoving || one.moved.has(accessKey) ? ONE : 0n;
    const connections = source.connections === 'total' ? total : (posted.connections ?? before);
    const isSame = known !== null && known.bytesUp === bytesUp && known.bytesDown === bytesDown;
    if (isSame && isOfRun && connections === before) return null;
    this.#setBase(one, accessKey, { bytesUp, bytesDown, connections, runs });
    if (!isMoving && connections === before) return null;
    return { accessKey, ...increment, connections: connections === before ? null : this.#connectionsOf(accessKey) };
  }

  /**
   * Drops what is left of runs before, and connections of keys that a whole post does not have. Such a key is gone at the
   * source: if it comes again, it has started again in this run.
   */
  *#sweep(one: Held, { isWhole, counters }: CountersPost): Steps<void> {
    const posted = isWhole ? new Set(counters.map(({ accessKey }) => accessKey)) : null;
    const isGone = (accessKey: string): boolean => posted !== null && !posted.has(accessKey);
    const left: string[] = [];
    for (const [accessKey, slot] of one.slots) {
      const runs = one.table.createdAt(slot);
      const isBefore = runs < one.source.runs;
      const isDue = runs < one.source.comparedFrom || (isBefore && isGone(accessKey));
      if (isDue || ((isBefore || isGone(accessKey)) && one.table.hasConnections(slot))) left.push(accessKey);
    }
    yield* this.#inPieces(left, (accessKey) => {
      const values = valuesOf(one, accessKey);
      one.moved.delete(accessKey);
      if (values === null) dropBase(one, accessKey);
      else
        this.#setBase(one, accessKey, {
          ...values,
          connections: 0n,
          ...(isGone(accessKey) && { runs: one.source.runs }),
        });
    });
  }

  /** Changes the connections of these keys, and tells the registry. */
  *#inPieces(accessKeys: readonly string[], change: (accessKey: string) => void): Steps<void> {
    for (let from = 0; from < accessKeys.length; from += AT_ONCE) {
      if (from > 0) yield;
      const some = accessKeys.slice(from, from + AT_ONCE);
      for (const accessKey of some) change(accessKey);
      this.#tellConnections(some);
    }
  }

  #tellConnections(accessKeys: readonly string[]): void {
    this.#options.count(
      accessKeys.map((accessKey) => ({ accessKey, ...NOTHING, connections: this.#connectionsOf(accessKey) })),
    );
  }

  #connectionsOf(accessKey: string): bigint {
    let sum = 0n;
    for (const one of this.#held.values()) sum += valuesOf(one, accessKey)?.connections ?? 0n;
    return sum;
  }

  #unknownOf(counters: readonly UsageEntry[]): readonly string[] {
    return counters.flatMap(({ accessKey }) => (this.#options.keys.get(accessKey) === undefined ? [accessKey] : []));
  }

  *#lower(one: Held): Steps<void> {
    const until = this.#options.clock.monotonic() - ONLINE_AFTER_MOVEMENT;
    const still = [...one.moved].flatMap(([accessKey, at]) => (at <= until ? [accessKey] : []));
    yield* this.#inPieces(still, (accessKey) => {
      one.moved.delete(accessKey);
      const values = valuesOf(one, accessKey);
      if (values !== null) this.#setBase(one, accessKey, { ...values, connections: 0n });
    });
  }

  #forget(name: string): void {
    const one = this.#held.get(name);
    if (one === undefined) return;
    this.#held.delete(name);
    this.#tellConnections(
      [...one.slots].flatMap(([accessKey, slot]) => (one.table.hasConnections(slot) ? [accessKey] : [])),
    );
    this.#changes.set(name, { isForgotten: true, accessKeys: new Set() });
  }

  #hold(source: Source): Held {
    const present = this.#held.get(source.name);
    if (present !== undefined) {
      present.source = source;
      return present;
    }
    const made: Held = { source, slots: new Map(), table: createCounterTable(), moved: new Map() };
    this.#held.set(source.name, made);
    return made;
  }

  #setBase(one: Held, accessKey: string, values: KnownValues): void {
    write(one, accessKey, values);
    this.#changeOf(one.source.name).accessKeys.add(accessKey);
  }

  #changeOf(name: string): { isForgotten: boolean; accessKeys: Set<string> } {
    const change = this.#changes.get(name) ?? { isForgotten: false, accessKeys: new Set<string>() };
    this.#changes.set(name, change);
    return change;
  }

  /** Tells times since the epoch, because what is kept outlives the process and its rising clock. */
  #withEpochTime(source: Source): Source {
    const { run } = source;
    if (run.kind === 'epoch') return source;
    const { clock } = this.#options;
    return { ...source, run: { ...run, startedAt: run.startedAt - clock.monotonic() + clock.now() } };
  }
}

/** Returns the base of a key; null where there is none that counts. */
function valuesOf({ source, slots, table }: Held, accessKey: string): KnownValues | null {
  const slot = slots.get(accessKey);
  if (slot === undefined) return null;
  const runs = table.createdAt(slot);
  return runs < source.comparedFrom ? null : { ...table.read(slot), runs };
}

function write({ slots, table }: Held, accessKey: string, { runs, ...values }: KnownValues): void {
  const slot = slots.get(accessKey) ?? table.take();
  slots.set(accessKey, slot);
  table.write(slot, values);
  table.setCreatedAt(slot, runs);
}

/** Drops a base of a run before, which is no change for a store. */
function dropBase({ slots, table }: Held, accessKey: string): void {
  const slot = slots.get(accessKey);
  if (slot === undefined) return;
  table.free(slot);
  slots.delete(accessKey);
}

const NOTHING = { bytesUp: 0n, bytesDown: 0n } as const;

/** The growth within a run. A value that has fallen tells of a reset at the source: both started again. */
function since(base: Pick<CounterValues, 'bytesUp' | 'bytesDown'>, { bytesUp, bytesDown }: UsageEntry) {
  const isReset = bytesUp < base.bytesUp || bytesDown < base.bytesDown;
  if (isReset) return { bytesUp, bytesDown };
  return { bytesUp: bytesUp - base.bytesUp, bytesDown: bytesDown - base.bytesDown };
}

/** The growth of counters that outlived a restart: what has fallen was lost in a crash, and is counted already. */
function grown(base: Pick<CounterValues, 'bytesUp' | 'bytesDown'>, { bytesUp, bytesDown }: UsageEntry) {
  const more = (value: bigint, before: bigint) => (value > before ? value - before : 0n);
  return { bytesUp: more(bytesUp, base.bytesUp), bytesDown: more(bytesDown, base.bytesDown) };
}

type KnownValues = CounterValues & Pick<Base, 'runs'>;

const GUESSED =
  'a source was restarted, and nobody said whether it keeps its counters over that: this goes by their sums. "restart" in its posts says it, or --server-version';

function refused(place: string, expected: string): DomainError {
  return new DomainError('invalidBody', `${place}: expected ${expected}`);
}
