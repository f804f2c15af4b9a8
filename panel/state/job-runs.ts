import { ApiFailure, hasFailed, isAway } from '../api/failure.js';
import {
  type Change,
  isOver,
  type Job,
  jobCalls,
  keyOf,
  MOST_CHARACTERS,
  MOST_ITEMS,
  type Outcome,
} from '../api/jobs.js';
import { pause } from '../store/pause.js';
import { until } from '../store/store.js';
import { encodeExact } from '../text/exact-json.js';
import { randomHex } from '../text/random.js';
import { inTurns, type Steps } from '../text/steps.js';
import { type Batch, VERBS } from './batch.js';
import type { Workspace } from './workspace.js';

/** The owner of a batch that the server is to do in jobs. */
interface Owner {
  /** Returns false once nobody wants to know of it any more. */
  readonly isThere: () => boolean;
  /** Called when the server has taken or refused all of it. */
  readonly onSent: () => void;
  readonly onProgress: (progress: Partial<Batch>) => void;
}

/** The changes that one job of the server makes, beginning at `from`. */
interface Part {
  readonly from: number;
  readonly count: number;
}

/** A job of the server, and the place of its first change in the batch. */
interface Taken {
  readonly from: number;
  readonly job: string;
}

/** Milliseconds between two tries while the server is away. */
const PAUSE = 2_000;
/** Seconds that the server lets a batch wait at most. */
const LONGEST_DELAY = 60;
/** Changes that are gone through in one step. */
const STEP = 1_000;

/** Cuts changes into as many jobs as the server takes them in. */
export function* partsOf(changes: readonly Change[]): Steps<readonly Part[]> {
  const parts: { from: number; count: number }[] = [];
  let characters = 0;
  for (const [from, { item }] of changes.entries()) {
    if (from % STEP === STEP - 1) yield;
    const last = parts.at(-1);
    const own = encodeExact(item).length;
    characters += own;
    if (last !== undefined && last.count < MOST_ITEMS && characters < MOST_CHARACTERS) last.count += 1;
    else {
      characters = own;
      parts.push({ from, count: 1 });
    }
  }
  return parts;
}

/** Has the server do batches as jobs, and follows them to their ends, over its absence and over a lost session, too. */
export class JobRuns {
  readonly #calls: ReturnType<typeof jobCalls>;
  readonly #session: Workspace['session'];
  /** The jobs that are followed already. */
  readonly #known = new Set<string>();
  /** Only one question waits for its answer at a time: a browser has few connections. */
  #turn: Promise<unknown> = Promise.resolve();
  /** Resolves once all that is being sent has been taken or refused. */
  #sent: Promise<unknown> = Promise.resolve();

  constructor({ own, session }: Pick<Workspace, 'own' | 'session'>) {
    this.#calls = jobCalls(own);
    this.#session = session;
  }

  /** Resolves to the outcomes of what was tried. */
  async run(batch: Batch, stopped: AbortSignal, owner: Owner): Promise<readonly Outcome[]> {
    const taken: Taken[] = [];
    this.#stopWith(stopped, taken, owner);
    const sending = this.#send(batch, taken, stopped, owner);
    this.#sent = Promise.all([this.#sent, sending]);
    const refused = await sending;
    owner.onSent();
    return owner.isThere() ? [...refused, ...(await this.#follow(batch, taken, stopped, owner))] : refused;
  }

  /** Follows a job that was begun elsewhere. Resolves as `run` does. */
  goOn(batch: Batch, job: Job, stopped: AbortSignal, owner: Owner): Promise<readonly Outcome[]> {
    const taken = [this.#take(0, job)];
    this.#stopWith(stopped, taken, owner);
    owner.onSent();
    return this.#follow(batch, taken, stopped, owner);
  }

  /** Asks for the jobs that are not over and not followed, the oldest first. */
  async unfinished(): Promise<readonly Job[]> {
    const jobs = await this.#calls.all();
    await this.#sent;
    return jobs.filter((job) => !isOver(job) && !this.#known.has(job.id)).reverse();
  }

  /** Follows nothing any more: who signs in next finds what goes on. */
  forget(): void {
    this.#known.clear();
  }

  #take(from: number, { id: job }: Job): Taken {
    this.#known.add(job);
    return { from, job };
  }

  /** Stops jobs as soon as their batch is stopped. A follower tries again where this fails. */
  #stopWith(stopped: AbortSignal, taken: readonly Taken[], owner: Owner): void {
    stopped.addEventListener('abort', () => {
      if (owner.isThere()) for (const { job } of taken) this.#calls.stop(job).catch(() => undefined);
    });
  }

  /** Sends changes, and notes the jobs that the server has taken. Resolves to the outcomes of what it refused. */
  async #send({ verb, changes }: Batch, taken: Taken[], stopped: AbortSignal, owner: Owner) {
    const refused: Outcome[] = [];
    for (const { from, count } of (await inTurns(partsOf(changes), stopped)) ?? []) {
      // After a sign-out nothing more is sent.
      if (!owner.isThere()) break;
      const items = changes.slice(from, from + count).map(({ item }) => item);
      const once = randomHex();
      let isSent = false;
      const send = async () => {
        if (stopped.aborted && !isSent) return null;
        isSent = true;
        // Stopped already, it waits where it comes there only now, and is stopped before anything of it is done.
        return this.#calls.begin(items, stopped.aborted ? LONGEST_DELAY : VERBS[verb].delay, once);
      };
      try {
        const begun = await this.#patiently(send);
        if (begun !== null && owner.isThere()) taken.push(this.#take(from, begun));
      } catch (error) {
        refused.push(
          ...items.map((item, index): Outcome => ({ index: from + index, key: keyOf(item), ok: false, error })),
        );
      }
    }
    return refused;
  }

  /** Follows jobs to their ends. Resolves to the outcomes of their changes. */
  async #follow({ verb }: Batch, taken: readonly Taken[], stopped: AbortSignal, owner: Owner) {
    const outcomes: Outcome[] = [];
    const seen = new Map<string, Job>();
    const report = (job: Job) => {
      seen.set(job.id, job);
      const sum = (name: 'done' | 'failed') => [...seen.values()].reduce((total, each) => total + each[name], 0);
      owner.onProgress({
        phase: job.state === 'waiting' && VERBS[verb].delay > 0 ? 'soon' : 'running',
        ...{ done: sum('done'), failed: sum('failed') },
      });
    };
    for (const { from, job } of taken) {
      const ask = async () => {
        // A sign-out leaves the batches to the server.
        if (!owner.isThere()) throw new ApiFailure('unauthorized');
        return stopped.aborted ? this.#calls.stop(job) : this.#calls.follow(job);
      };
      try {
        for (;;) {
          const now = await this.#patiently(() => this.#inTurn(ask));
          report(now);
          if (isOver(now)) break;
        }
        const { items } = await this.#patiently(() => this.#calls.follow(job, true));
        for (const outcome of items)
          if (outcome.ok !== null) outcomes.push({ ...outcome, index: from + outcome.index });
      } catch {
        // The server has taken it: that it tells nothing of it does not say that it failed.
        owner.onProgress({ isUnknown: true });
      }
    }
    return outcomes;
  }

  #inTurn<T>(ask: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(ask);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** Asks until the server answers, over a lost session, too. */
  async #patiently<T>(ask: () => Promise<T>): Promise<T> {
    const { state } = this.#session;
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (state.get().phase === 'lost') await until(state, ({ phase }) => phase !== 'lost');
        else if (!isAway(error) && !hasFailed(error, 429)) throw error;
        else await pause(PAUSE);
        if (state.get().phase === 'signedOut') throw error;
      }
    }
  }
}
