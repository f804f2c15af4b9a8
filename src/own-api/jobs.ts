import type { Actors } from '../core/actors.js';
import type { Backend, ChangeOutcome, KeyChange, KeyChanges } from '../core/backend.js';
import { outcomesText, wasMade } from '../core/batch-outcomes.js';
import type { Core } from '../core/core.js';
import { DomainError, isAway } from '../core/errors.js';
import type { KeptRecords, RecordChange } from '../core/kept-records.js';
import { createdBy, type KeyMakers, seesOwnAlone } from '../core/keys/key-makers.js';
import type { KeyNotes, NotedChange } from '../core/keys/key-notes.js';
import { Lease } from '../core/lease.js';
import type { NamedTokens } from '../core/named-tokens.js';
import type { ClockPort, LogPort, RandomPort } from '../core/ports.js';
import { type Principal, permits } from '../core/principal.js';
import { vainDeletions, whatBecameOf } from './changes.js';
import { EndedOnces } from './ended-onces.js';
import { OwnError } from './errors.js';
import {
  type Allowed,
  allJobs,
  allowedIn,
  allowedRecord,
  allowedText,
  chunkOutcomes,
  countsIn,
  itemsIn,
  itemsRecord,
  itemsText,
  type JobCounts,
  type JobItem,
  jobIn,
  jobRecord,
  type KeptJob,
  keyOf,
  noteRecord,
  onceIn,
  onceRecord,
  outcomesOf,
  outcomesRecord,
  recordsByJob,
  vainRecord,
} from './job-records.js';
import type { RotatedKey, Rotations } from './rotations.js';

export interface JobsOptions {
  readonly core: Pick<Core, 'audit' | 'key' | 'keys'>;
  readonly backend: Backend;
  readonly records: KeptRecords;
  readonly makers: KeyMakers;
  readonly notes: Pick<KeyNotes, 'changesOf'>;
  readonly actors: Actors;
  readonly named: Pick<NamedTokens, 'isHeld'>;
  /** Told of each job that has ended, with the change of its record that says so: both are written down, or neither. */
  readonly onEnded: (
    job: Pick<KeptJob, 'id' | 'owner' | 'state' | 'total'>,
    outcome: JobOutcome,
    told: RecordChange,
  ) => Promise<void>;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly log: LogPort;
  readonly rotations: Pick<Rotations, 'follow'>;
}

/** The end of a job. */
export interface JobOutcome extends JobCounts {
  readonly rotated: readonly RotatedKey[];
}

/** A batch that somebody asks for. */
export interface AskedJob {
  readonly by: Principal;
  readonly changes: readonly JobItem[];
  /** Milliseconds before which nothing of it is done. */
  readonly delay: number;
  /** Null without an `Idempotency-Key`. */
  readonly once: { readonly key: string; readonly digest: string } | null;
}

/** Jobs of one token that may wait: others must not be kept out by it. */
const MOST_OF_TOKEN = 10;
/** Jobs that may wait, and characters of their items together. */
const MOST_WAITING = 100;
const MOST_WAITING_CHARACTERS = 128 * 2 ** 20;
/** Items of one outcome record where it is rewritten after each of them, or after a few. */
const SINGLE_CHUNK = 250;
/** Changes that may be unrecorded at the end of a process: one is on its way while the one before is written down. */
const MOST_IN_DOUBT = 2;
/** Milliseconds that a job is kept after its end, and the most of those that have ended, and of their characters. */
const KEPT = 86_400_000;
const MOST_ENDED = 1_000;
const MOST_ENDED_CHARACTERS = 64 * 2 ** 20;
const SWEEP = 3_600_000;
/** Milliseconds that a batch is held back at most, whatever the time of day has become since. */
const LONGEST_DELAY = 60_000;
/** Milliseconds between two tries while the holder of the state is away. */
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 15_000;

/** Batches of changes of keys, which go on when their callers have gone, and when Keyway was killed. */
export class Jobs {
  readonly #options: JobsOptions;
  readonly #lease: Lease;
  readonly #onces: EndedOnces;
  readonly #endings = new Map<string, Set<() => void>>();
  /** Jobs that are being written down: others that come meanwhile count them. */
  readonly #beginning = new Map<string, { readonly owner: string; readonly characters: number }>();
  /** When jobs that wait may begin, by the clock that only rises. */
  readonly #dueAt = new Map<string, number>();
  #working: Promise<void> | null = null;
  #wake: NodeJS.Timeout | null = null;
  #sweep: NodeJS.Timeout | null = null;
  #hurry: (() => void) | null = null;
  #lastRead: { readonly id: string; readonly changes: readonly JobItem[] } | null = null;
  #isClosed = false;
  #isReleased = false;

  constructor(options: JobsOptions) {
    const { records, random, clock } = options;
    this.#options = options;
    this.#lease = new Lease({
      ...{ records, clock, kind: 'jobs', id: 'lease' },
      holder: random.uuid(),
      onHeld: () => this.#goOn(),
    });
    this.#onces = new EndedOnces(records);
    records.onChange('jobs', (ids) => this.#changed(ids));
    records.onChange('tokens', () => this.#tokensChanged());
  }

  /** Tells whether this gateway is the one that works for the state. */
  readonly isInCharge = (): boolean => this.#lease.isHeld();

  /** Goes on with what was begun before. */
  start(): void {
    for (const job of allJobs(this.#options.records)) if (job.state === 'waiting') this.#untilDue(job);
    this.#lease.start();
    this.#sweep = setInterval(() => this.#goOn(), SWEEP).unref();
  }

  /** Takes a batch. Resolves once it outlives a crash; to the job that is there under its `Idempotency-Key`. */
  async begin({ by, changes, delay, once }: AskedJob): Promise<KeptJob> {
    const { records, clock, random, backend } = this.#options;
    const onceId = once === null ? null : onceRecord(by.name, once.key);
    for (;;) {
      const known = onceId === null ? null : onceIn(records, onceId);
      if (known !== null) {
        if (known.digest !== once?.digest) throw new OwnError('idempotencyKeyReused');
        const job = jobIn(records, known.job);
        if (job !== null) return job;
        if ((known.endedAt ?? 0) >= clock.now() - KEPT)
          throw new DomainError('conflict', 'the batch under this Idempotency-Key has ended, and is not kept any more');
      }
      const items = itemsText(changes);
      this.#expectRoom(by, items.length);
      const now = clock.now();
      const job: KeptJob = {
        ...{ id: random.uuid(), owner: by.name, may: by.may, ...(by.token === undefined ? {} : { token: by.token }) },
        ...{ state: 'waiting', total: changes.length, createdAt: now },
        chunk: chunkOf(changes, backend.changes),
        ...{ notBefore: now + delay, startedAt: null, endedAt: null, counts: null, once: onceId },
        ...{ stops: false, isPaused: false, isTold: false },
      };
      this.#dueAt.set(job.id, clock.monotonic() + delay);
      this.#beginning.set(job.id, { owner: by.name, characters: items.length });
      const written = records.change([
        put(itemsRecord(job.id), items),
        put(jobRecord(job.id), JSON.stringify(job)),
        ...(onceId === null || once === null
          ? []
          : [
              {
                ...put(onceId, JSON.stringify({ job: job.id, digest: once.digest })),
                expected: records.of('jobs').get(onceId) ?? null,
              },
            ]),
      ]);
      const isMade = await written.finally(() => this.#beginning.delete(job.id));
      if (!isMade) {
        this.#dueAt.delete(job.id);
        continue;
      }
      this.#goOn();
      return job;
    }
  }

  /** The jobs that a caller may see, the newest first. */
  all(principal: Principal): readonly KeptJob[] {
    return allJobs(this.#options.records)
      .filter((job) => isSeenBy(principal, job))
      .reverse();
  }

  /** Throws `notFound` for a job that is not there for this caller. */
  find(principal: Principal, id: string): KeptJob {
    const job = jobIn(this.#options.records, id);
    if (job === null || !isSeenBy(principal, job)) throw new OwnError('notFound', 'there is no such job');
    return job;
  }

  /** The changes of a job; those of the last one are kept, since a caller that follows it asks again and again. */
  changesOf({ id }: KeptJob): readonly JobItem[] {
    if (this.#lastRead?.id !== id)
      this.#lastRead = { id, changes: itemsIn(this.#options.records.of('jobs').get(itemsRecord(id)) ?? '[]') };
    return this.#lastRead.changes;
  }

  outcomesOf(job: KeptJob): readonly ChangeOutcome[] {
    return outcomesOf(this.#options.records, job);
  }

  countsOf(job: KeptJob): JobCounts {
    return job.counts ?? countsIn(this.outcomesOf(job));
  }

  /** The rotations of the jobs that run, or have just ended and are not told. */
  rotating(): readonly RotatedKey[] {
    const running = allJobs(this.#options.records).filter(
      ({ state, endedAt, isTold }) => state === 'running' || (endedAt !== null && !isTold),
    );
    return running.flatMap((job) => this.changesOf(job).flatMap((asked) => (asked.op === 'rotate' ? [asked] : [])));
  }

  /** Stops a job: what is done stays. Resolves once nothing more of it is done, or after 5 s. */
  async stop(principal: Principal, id: string): Promise<void> {
    for (;;) {
      const job = this.find(principal, id);
      if (job.endedAt !== null) return;
      const isIdle = job.state === 'waiting';
      const isMade = isIdle
        ? await this.#change(job, {
            ...{ state: 'stopped', endedAt: this.#options.clock.now(), isTold: true },
            counts: countsIn([]),
          })
        : await this.#change(job, { stops: true });
      if (!isMade) continue;
      this.#hurry?.();
      if (!isIdle) await this.ended(id, 5_000);
      return;
    }
  }

  /** Resolves once the job has ended, after that many milliseconds, or when all are released. */
  async ended(id: string, milliseconds: number): Promise<void> {
    if (this.#isReleased || (jobIn(this.#options.records, id)?.endedAt ?? null) !== null) return;
    await new Promise<void>((resolve) => {
      const waiting = this.#endings.get(id) ?? new Set();
      this.#endings.set(id, waiting);
      const over = () => {
        clearTimeout(timer);
        waiting.delete(over);
        if (waiting.size === 0) this.#endings.delete(id);
        resolve();
      };
      const timer = setTimeout(over, milliseconds);
      waiting.add(over);
    });
  }

  /** Lets go who waits for the end of a job, now and from now on: who began one must learn which. */
  release(): void {
    this.#isReleased = true;
    for (const waiting of this.#endings.values()) for (const over of [...waiting]) over();
  }

  /** Ends between two items of the job that runs; the next process goes on with it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#wake !== null) clearTimeout(this.#wake);
    if (this.#sweep !== null) clearInterval(this.#sweep);
    this.#hurry?.();
    await this.#working;
    await this.#lease.close();
    this.release();
  }

  #changed(ids: readonly string[]): void {
    this.#onces.take(ids);
    for (const id of ids) {
      const [kind = '', job = ''] = id.split('/');
      if (kind !== 'job') continue;
      const present = jobIn(this.#options.records, job);
      if (present?.state !== 'waiting') this.#dueAt.delete(job);
      if ((present?.endedAt ?? null) !== null) for (const over of [...(this.#endings.get(job) ?? [])]) over();
    }
    this.#goOn();
  }

  #tokensChanged(): void {
    const { records, log } = this.#options;
    if (this.#isClosed || !this.#lease.isHeld()) return;
    this.#stopOrphans(allJobs(records)).then(
      () => {
        this.#hurry?.();
        this.#goOn();
      },
      (error: unknown) => log.warn({ err: error }, 'batches of a token that has ended are stopped later'),
    );
  }

  #expectRoom({ name, token }: Principal, characters: number): void {
    const { records } = this.#options;
    const written = allJobs(records)
      .filter(({ state }) => state === 'waiting')
      .map(({ id, owner }) => ({ owner, characters: records.of('jobs').get(itemsRecord(id))?.length ?? 0 }));
    const beginning = [...this.#beginning].filter(([id]) => jobIn(records, id) === null).map(([, each]) => each);
    const waiting = [...written, ...beginning];
    if (token !== undefined && waiting.filter(({ owner }) => owner === name).length >= MOST_OF_TOKEN)
      throw new OwnError('tooManyJobs', `${MOST_OF_TOKEN} of this token wait`, 5);
    const held = waiting.reduce((sum, each) => sum + each.characters, 0);
    if (waiting.length >= MOST_WAITING || (waiting.length > 0 && held + characters > MOST_WAITING_CHARACTERS))
      throw new OwnError('tooManyJobs', '', 5);
  }

  /** Works unless it does, and comes back when the next job is due. */
  #goOn(): void {
    if (this.#working !== null || this.#isClosed || !this.#lease.isHeld()) return;
    this.#working = this.#work().then(
      () => this.#rest(),
      (error: unknown) => {
        this.#options.log.error({ err: error }, 'a batch of changes could not go on; it is tried again');
        this.#rest(LONGEST_PAUSE);
      },
    );
  }

  #rest(pause = 0): void {
    this.#working = null;
    if (this.#isClosed) return;
    if (this.#wake !== null) clearTimeout(this.#wake);
    const due = allJobs(this.#options.records).flatMap((job) => {
      if (job.endedAt !== null) return [];
      return job.state === 'running' ? [0] : [this.#untilDue(job)];
    });
    if (due.length === 0) return;
    this.#wake = setTimeout(() => this.#goOn(), Math.max(pause, Math.min(...due), 1)).unref();
  }

  /** Milliseconds until a job may begin. What is kept is a time of day, which is read once: that may be set back later. */
  #untilDue({ id, notBefore }: KeptJob): number {
    const { clock } = this.#options;
    const due = this.#dueAt.get(id) ?? clock.monotonic() + Math.min(notBefore - clock.now(), LONGEST_DELAY);
    this.#dueAt.set(id, due);
    return due - clock.monotonic();
  }

  async #work(): Promise<void> {
    // The caller who began a batch gets its answer first.
    await new Promise(setImmediate);
    while (!this.#isClosed && this.#lease.isHeld()) {
      const jobs = allJobs(this.#options.records);
      for (const job of jobs) if (job.endedAt !== null && !job.isTold) await this.#tell(job);
      if (await this.#stopOrphans(jobs)) continue;
      const next =
        jobs.find(({ state }) => state === 'running') ??
        jobs.find((job) => job.state === 'waiting' && this.#untilDue(job) <= 0);
      if (next === undefined) {
        await this.#forgetOld(jobs);
        return;
      }
      await this.#run(next);
    }
  }

  /** Stops the jobs of tokens that have ended. False where there are none. */
  async #stopOrphans(jobs: readonly KeptJob[]): Promise<boolean> {
    const orphans = jobs.filter((job) => job.endedAt === null && !job.stops && !this.#isOwned(job));
    for (const job of orphans) {
      const reason = `the token ${job.owner} has ended`;
      // One that runs is told as far as it came.
      const end = { state: 'stopped', endedAt: this.#options.clock.now(), counts: countsIn([]) } as const;
      await this.#change(job, job.state === 'waiting' ? { reason, ...end } : { reason, stops: true });
    }
    return orphans.length > 0;
  }

  #isOwned({ owner, token }: KeptJob): boolean {
    return token === undefined || this.#options.named.isHeld(owner, token);
  }

  async #run(job: KeptJob): Promise<void> {
    // One of another process, or of another gateway that is gone.
    const isResumed = job.state === 'running' && !job.isPaused;
    const startedAt = job.startedAt ?? this.#options.clock.now();
    if (!(await this.#change(job, { state: 'running', startedAt, isPaused: false }))) return;
    const changes = this.changesOf(job);
    if (!isResumed) await this.#options.backend.document?.keepVersion();
    const isInDoubt = await this.#makeAll(job, changes, isResumed);
    const present = jobIn(this.#options.records, job.id);
    if (present === null || present.endedAt !== null) return;
    const outcomes = this.outcomesOf(present);
    if (outcomes.length < changes.length && !present.stops) {
      if (this.#isClosed && !isInDoubt) await this.#change(present, { isPaused: true });
      return;
    }
    const state = outcomes.length < changes.length ? 'stopped' : 'done';
    await this.#disownUnmade(job, changes, outcomes);
    const end = { state, endedAt: this.#options.clock.now(), counts: countsIn(outcomes) } as const;
    if (await this.#change(present, end)) await this.#tell({ ...present, ...end });
  }

  /**
   * Makes the changes, as many together as the driver takes. What became of a part is recorded while the next one is made, so that
   * a crash leaves two in doubt at most; where both change the same key, it is recorded before. Resolves to whether some may be
   * made that is not recorded.
   */
  async #makeAll(job: KeptJob, changes: readonly JobItem[], isResumed: boolean): Promise<boolean> {
    const { records } = this.#options;
    const { most, areNoted } = this.#options.backend.changes;
    let doubtful = isResumed && !areNoted ? MOST_IN_DOUBT : 0;
    let before: readonly KeyChange[] = [];
    let kept: Promise<void> = Promise.resolve();
    for (let chunk = 0; chunk * job.chunk < changes.length; chunk += 1) {
      const all = changes.slice(chunk * job.chunk, (chunk + 1) * job.chunk);
      const outcomes = [...chunkOutcomes(records, job.id, chunk)];
      if (outcomes.length === all.length) continue;
      const looked = await this.#patiently(job, async () => ({
        allowed: await this.#allowedOf(job, chunk, all),
        vain: areNoted ? new Set<number>() : await this.#vainOf(job, chunk, all),
      }));
      if (looked === null) break;
      const { allowed, vain } = looked;
      while (outcomes.length < all.length && this.#mayGoOn(job)) {
        const from = outcomes.length;
        const to = areNoted ? all.length : Math.min(from + most, untilRepeated(all, from));
        const some = all.slice(from, to);
        if (haveKeyInCommon(before, some)) {
          await kept;
          doubtful = 0;
        }
        const isVain = (index: number) => vain.has(from + index);
        const part = { chunk, asked: some, allowed: allowed.slice(from, to), isVain };
        const become = await this.#makePart(job, part, doubtful > 0);
        if (become === null) {
          // It was sent, and its answer lost.
          doubtful = Math.max(doubtful, 1);
          break;
        }
        doubtful -= 1;
        await this.#followMade(job, some, become);
        await kept;
        outcomes.push(...become);
        before = some;
        // A key that was left as it is keeps its note.
        const made = some.filter((each, index) => allowed[from + index] === each && wasMade(become[index]));
        kept = this.#keep(job, chunk, outcomes, made);
        // It is awaited behind the next part.
        kept.catch(() => undefined);
      }
      if (outcomes.length < all.length) break;
    }
    await kept;
    return doubtful > 0;
  }

  /** Resolves to what became of each change; to null where the job is to end before. */
  #makePart(
    job: KeptJob,
    { chunk, asked, allowed, isVain }: Part,
    mayBeMade: boolean,
  ): Promise<readonly ChangeOutcome[] | null> {
    const { changes } = this.#options.backend;
    let isInDoubt = mayBeMade;
    return this.#patiently(job, async () => {
      const found = await this.#found(
        allowed,
        asked.map((each, index) => (isInDoubt && !isVain(index) ? each : null)),
      );
      // They are looked up also where the answer is lost.
      isInDoubt = !changes.areNoted;
      const open = allowed.flatMap((each, index) =>
        each instanceof DomainError || found[index] !== undefined ? [] : [each],
      );
      const note = changes.areNoted ? noteRecord(job.id, chunk) : null;
      const apply = () =>
        this.#options.actors.during(callerOf(job), open.flatMap(keysOf), () =>
          changes.apply(open, { note, refuses: true }),
        );
      const made = open.length === 0 ? [] : await apply();
      const told = made[Symbol.iterator]();
      return found.map((each) => (each === undefined ? (told.next().value ?? null) : each));
    });
  }

  /** The same as `whatBecameOf`, with what shows taken over; a change that shows no more by then was not made. */
  async #became(asked: KeyChange): Promise<ChangeOutcome | undefined> {
    const { core, backend } = this.#options;
    const become = await whatBecameOf(core, asked);
    return become === null && (await backend.adopt?.(asked)) === false ? undefined : become;
  }

  /** The outcomes that are known before changes are made: of those that may not be, and of those in doubt that were. */
  async #found(
    allowed: readonly Allowed[],
    inDoubt: readonly (KeyChange | null)[],
  ): Promise<readonly (ChangeOutcome | undefined)[]> {
    const found: (ChangeOutcome | undefined)[] = [];
    for (const [index, each] of allowed.entries()) {
      const asked = each instanceof DomainError ? null : (inDoubt[index] ?? null);
      const become = asked === null ? undefined : await this.#became(asked);
      found.push(each instanceof DomainError ? each : become);
    }
    return found;
  }

  /**
   * The deletions of a chunk that do nothing, noted before anything of it is made: afterwards such a key looks as one that was
   * deleted.
   */
  async #vainOf(job: KeptJob, chunk: number, changes: readonly KeyChange[]): Promise<ReadonlySet<number>> {
    if (!changes.some(({ op }) => op === 'delete')) return new Set();
    const { records, core } = this.#options;
    const id = vainRecord(job.id, chunk);
    const kept = records.of('jobs').get(id);
    if (kept !== undefined) return new Set<number>(JSON.parse(kept));
    const vain = await vainDeletions(core, changes);
    await records.change([put(id, JSON.stringify(vain))]);
    return new Set(vain);
  }

  /** The same for a chunk as when it was first looked at: a home may know the others by their number. */
  async #allowedOf(job: KeptJob, chunk: number, changes: readonly KeyChange[]): Promise<readonly Allowed[]> {
    if (!seesOwnAlone(callerOf(job))) return changes;
    const { records } = this.#options;
    const id = allowedRecord(job.id, chunk);
    const kept = records.of('jobs').get(id);
    if (kept !== undefined) return allowedIn(kept, changes);
    const allowed = await this.#allowed(job, changes);
    await records.change([put(id, allowedText(allowed, changes))]);
    return allowed;
  }

  /**
   * Decides over these changes for the job's credential. One that sees its own keys alone makes keys and nothing else. They are noted as its
   * own before they are made, so that one which was made when a process ended is known.
   */
  async #allowed(job: KeptJob, changes: readonly KeyChange[]): Promise<readonly Allowed[]> {
    const { core, makers } = this.#options;
    const caller = callerOf(job);
    if (!seesOwnAlone(caller)) return changes;
    const allowed: Allowed[] = [];
    for (const asked of changes) {
      try {
        if (asked.op !== 'create') throw new DomainError('notPermitted');
        const change = await createdBy(core, makers, caller, asked.key);
        allowed.push(change.op === 'create' ? asked : change);
      } catch (error) {
        if (!(error instanceof DomainError) || error.code !== 'notPermitted') throw error;
        allowed.push(error);
      }
    }
    const own = allowed.flatMap((each) => (each instanceof DomainError ? [] : [keyOf(each)]));
    await makers.made(caller, own);
    return allowed;
  }

  /** Keys that were noted as the credential's own, and were not made, are nobody's. */
  async #disownUnmade(job: KeptJob, changes: readonly KeyChange[], outcomes: readonly ChangeOutcome[]): Promise<void> {
    const { core, makers } = this.#options;
    const caller = callerOf(job);
    if (!seesOwnAlone(caller)) return;
    const unmade: string[] = [];
    for (const [index, asked] of changes.entries()) {
      if (asked.op !== 'create' || wasMade(outcomes[index]) || !makers.sees(caller, asked.key.accessKey)) continue;
      if ((await core.key(asked.key.accessKey)) === undefined) unmade.push(asked.key.accessKey);
    }
    await makers.made(null, unmade);
  }

  /** Tries until the holder of the state answers; null where the job is to end before. */
  async #patiently<T>(job: KeptJob, work: () => Promise<T>): Promise<T | null> {
    for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      try {
        return await work();
      } catch (error) {
        const mayPass = error instanceof DomainError && (isAway(error) || error.code === 'saveFailed');
        if (!mayPass) throw error;
        this.#options.log.warn({ job: job.id, reason: error.message }, 'a batch waits for whoever holds the state');
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, pause);
          this.#hurry = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        this.#hurry = null;
        if (!this.#mayGoOn(job)) return null;
      }
    }
  }

  #mayGoOn({ id }: KeptJob): boolean {
    const job = jobIn(this.#options.records, id);
    return !this.#isClosed && this.#lease.isHeld() && job?.stops === false && this.#isOwned(job);
  }

  /** Writes down what became of a chunk, and in the same step the notes that its last part has changed. */
  async #keep(
    job: KeptJob,
    chunk: number,
    outcomes: readonly ChangeOutcome[],
    made: readonly JobItem[],
  ): Promise<void> {
    const { actors, records, notes } = this.#options;
    const noted = notes.changesOf(made.flatMap(notedBy));
    if (noted.length > 0)
      actors.did(
        callerOf(job),
        noted.map(({ id }) => id),
      );
    await records.change([put(outcomesRecord(job.id, chunk), outcomesText(outcomes)), ...noted]);
  }

  /** Has what is kept beside keys follow changes that were made. A failure ends no batch. */
  async #followMade(job: KeptJob, changes: readonly KeyChange[], outcomes: readonly ChangeOutcome[]): Promise<void> {
    const { makers, rotations, log } = this.#options;
    const made = changes.filter((_, index) => wasMade(outcomes[index]));
    const madeBy = (op: KeyChange['op']) => made.filter((each) => each.op === op).map(keyOf);
    try {
      await makers.made(callerOf(job), madeBy('create'));
      await makers.gone(madeBy('delete'));
      for (const each of made) if (each.op === 'rotate') await rotations.follow(each.accessKey, each.successor);
    } catch (error) {
      log.warn({ err: error }, 'records of changed keys could not be kept');
    }
  }

  /** Changes a job that is as it was last seen; false where it is not. */
  #change(job: KeptJob, change: Partial<KeptJob>): Promise<boolean> {
    return this.#options.records.change([changeOf(job, change)]);
  }

  /** Puts the end of a job into the audit list, and notes that. */
  async #tell(job: KeptJob): Promise<void> {
    const { core } = this.#options;
    const outcomes = this.outcomesOf(job);
    const { done, failed } = countsIn(outcomes);
    const left = job.total - outcomes.length;
    const eventEn = `Batch ${job.id} (${job.owner}): ${done} of ${job.total} keys done, ${failed} failed${left > 0 ? `, ${left} stopped` : ''}${job.reason === undefined ? '' : `: ${job.reason}`}`;
    const eventRu = `Пакет ${job.id} (${job.owner}): выполнено ${done} из ${job.total} ключей, с ошибкой ${failed}${left > 0 ? `, остановлено ${left}` : ''}${job.reason === undefined ? '' : `: токен ${job.owner} больше не действует`}`;
    // A gateway may have gone between the two steps.
    const entries = await core.audit.list();
    if (!entries.some((entry) => entry.eventEn === eventEn))
      await core.audit.add({ eventEn, eventRu, success: failed === 0 && left === 0 });
    const rotated = this.changesOf(job).flatMap((asked, index) =>
      asked.op === 'rotate' && wasMade(outcomes[index]) ? [asked] : [],
    );
    await this.#options.onEnded(job, { done, failed, rotated }, changeOf(job, { isTold: true }));
  }

  /** Removes jobs that ended long ago, and the oldest of too many; what is known of an `Idempotency-Key` stays its day, unless its owner has too many. */
  async #forgetOld(jobs: readonly KeptJob[]): Promise<void> {
    const { records, clock, log } = this.#options;
    const since = clock.now() - KEPT;
    const kept = recordsByJob(records);
    const ended = jobs.filter(({ endedAt, isTold }) => endedAt !== null && isTold);
    let count = ended.length;
    let characters = ended.reduce((sum, { id }) => sum + (kept.get(id)?.characters ?? 0), 0);
    const gone = this.#onces.over(since).map((id) => put(id, null));
    for (const { id, once, endedAt, owner } of ended) {
      const isOver = endedAt !== null && endedAt < since;
      if (!isOver && count <= MOST_ENDED && characters <= MOST_ENDED_CHARACTERS) continue;
      gone.push(...(kept.get(id)?.ids ?? []).map((each) => put(each, null)));
      if (once !== null)
        gone.push(put(once, isOver ? null : JSON.stringify({ ...onceIn(records, once), endedAt, owner })));
      count -= 1;
      characters -= kept.get(id)?.characters ?? 0;
    }
    if (gone.length === 0) return;
    await records.change(gone).catch((error: unknown) => log.warn({ err: error }, 'old batches could not be removed'));
  }
}

/** Changes of one chunk of a job that are made together. */
interface Part {
  readonly chunk: number;
  readonly asked: readonly KeyChange[];
  readonly allowed: readonly Allowed[];
  /** Tells whether a change did nothing when it was first looked at. */
  readonly isVain: (index: number) => boolean;
}

function haveKeyInCommon(some: readonly KeyChange[], others: readonly KeyChange[]): boolean {
  const keys = new Set(some.map(keyOf));
  return others.some((each) => keys.has(keyOf(each)));
}

/**
 * Returns the place of the first change, from `from` on, of a key that one before it has. Of each before that place the
 * state shows afterwards whether it was made.
 */
function untilRepeated(changes: readonly KeyChange[], from: number): number {
  const seen = new Set<string>();
  for (let at = from; at < changes.length; at += 1) {
    const key = keyOf(changes[at] as KeyChange); // It is one of them.
    if (seen.has(key)) return at;
    seen.add(key);
  }
  return changes.length;
}

/**
 * Changes whose outcomes are one record, which is rewritten after each part of it that is made at once: few where keys come
 * again and again.
 */
function chunkOf(changes: readonly KeyChange[], batches: KeyChanges): number {
  if (batches.areNoted) return batches.most;
  let parts = 0;
  for (let at = 0; at < changes.length; at = untilRepeated(changes, at)) parts += 1;
  return parts * SINGLE_CHUNK > changes.length ? SINGLE_CHUNK : Math.max(SINGLE_CHUNK, batches.most);
}

/** The keys that a change is of. */
const keysOf = (asked: KeyChange): readonly string[] =>
  asked.op === 'rotate' ? [asked.accessKey, asked.successor] : [keyOf(asked)];

function notedBy(asked: JobItem): readonly NotedChange[] {
  const accessKey = keyOf(asked);
  if (asked.op === 'rotate') return [{ op: 'moved', accessKey, successor: asked.successor }];
  const note = asked.op === 'delete' ? null : asked.note;
  return note === undefined ? [] : [{ op: 'put', accessKey, note }];
}

const callerOf = ({ owner, may }: KeptJob): Principal => ({ name: owner, may });

const changeOf = (job: KeptJob, change: Partial<KeptJob>): RecordChange => ({
  ...put(jobRecord(job.id), JSON.stringify({ ...job, ...change })),
  expected: JSON.stringify(job),
});

const put = (id: string, body: string | null): RecordChange => ({ kind: 'jobs', id, body });

const isSeenBy = (principal: Principal, { owner }: KeptJob): boolean =>
  owner === principal.name || permits(principal, []);
