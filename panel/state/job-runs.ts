import { ApiFailure, isAway } from '../api/failure.js';
import { isOver, type Job, jobCalls, keyOf, type Outcome } from '../api/jobs.js';
import { pause } from '../store/pause.js';
import { until } from '../store/store.js';
import { type Batch, VERBS } from './batch.js';
import type { KeptBatch, Part } from './kept-batches.js';
import type { Workspace } from './workspace.js';

/** The owner of a batch that the server is to do in jobs. */
interface Owner {
  /** Returns false once nobody wants to know of it any more. */
  readonly isThere: () => boolean;
  /** Called when the server has taken a part. */
  readonly onParts: (parts: readonly Part[]) => void;
  readonly onProgress: (progress: Partial<Batch>) => void;
}

/** Milliseconds between two tries while the server is away. */
const PAUSE = 2_000;
/** Seconds that the server lets a batch wait at most. */
const LONGEST_DELAY = 60;

/** Has the server do batches as jobs, and follows them to their ends, over its absence and over a lost session, too. */
export class JobRuns {
  readonly #calls: ReturnType<typeof jobCalls>;
  readonly #session: Workspace['session'];
  /** Only one question waits for its answer at a time: a browser has few connections. */
  #turn: Promise<unknown> = Promise.resolve();
  /** Resolves once all that is being sent has been taken or refused. */
  #sent: Promise<unknown> = Promise.resolve();
  readonly #loadedAt = Date.now();

  constructor({ own, session }: Workspace) {
    this.#calls = jobCalls(own);
    this.#session = session;
  }

  /** Resolves to the outcomes of what was tried. */
  async run(batch: KeptBatch, stopped: AbortSignal, owner: Owner): Promise<readonly Outcome[]> {
    const parts = [...(batch.parts ?? [])];
    const sending = this.#send(batch, parts, stopped, owner);
    this.#sent = Promise.all([this.#sent, sending]);
    const refused = await sending;
    return owner.isThere() ? [...refused, ...(await this.#follow(batch, parts, stopped, owner))] : refused;
  }

  /** Stops jobs at once. Whoever follows them tries again where this fails. */
  stop(parts: readonly Part[]): void {
    for (const { job } of parts) if (job !== null) this.#calls.stop(job).catch(() => undefined);
  }

  /** Asks for the jobs that are not over, the oldest first; each that this page has sent is known by its part. */
  async unfinished(): Promise<readonly Job[]> {
    const jobs = await this.#calls.all();
    await this.#sent;
    return jobs.filter((job) => !isOver(job)).reverse();
  }

  /** Sends the parts that the server has not taken yet, and notes their jobs. Resolves to the outcomes of those that it refused. */
  async #send({ verb, changes, begunAt }: KeptBatch, parts: Part[], stopped: AbortSignal, owner: Owner) {
    const refused: Outcome[] = [];
    for (const [place, part] of parts.entries()) {
      if (part.job !== null) continue;
      // Whoever signs out sends nothing more.
      if (!owner.isThere()) break;
      const items = changes.slice(part.from, part.from + part.count).map(({ item }) => item);
      // A batch that was begun before the page was loaded may have been sent before.
      let isSent = begunAt < this.#loadedAt;
      const send = async () => {
        if (stopped.aborted && !isSent) return null;
        isSent = true;
        // Stopped already, it waits where it comes there only now, and is stopped before anything of it is done.
        return this.#calls.begin(items, stopped.aborted ? LONGEST_DELAY : VERBS[verb].delay, part.once);
      };
      try {
        const begun = await this.#patiently(send);
        if (begun === null) continue;
        parts[place] = { ...part, job: begun.id };
        owner.onParts([...parts]);
      } catch (error) {
        refused.push(
          ...items.map((item, index): Outcome => ({ index: part.from + index, key: keyOf(item), ok: false, error })),
        );
      }
    }
    return refused;
  }

  /** Follows the parts that the server has taken to their ends. Resolves to the outcomes of their changes. */
  async #follow({ verb }: KeptBatch, parts: readonly Part[], stopped: AbortSignal, owner: Owner) {
    const outcomes: Outcome[] = [];
    const seen = new Map<Part, Job>();
    const report = (part: Part, job: Job) => {
      seen.set(part, job);
      const sum = (name: 'done' | 'failed') => [...seen.values()].reduce((total, each) => total + each[name], 0);
      owner.onProgress({
        phase: job.state === 'waiting' && VERBS[verb].delay > 0 ? 'soon' : 'running',
        ...{ done: sum('done'), failed: sum('failed') },
      });
    };
    for (const part of parts) {
      const { job } = part;
      if (job === null) continue;
      const ask = async () => {
        // Whoever signs out leaves his batches to the server.
        if (!owner.isThere()) throw new ApiFailure('unauthorized');
        return stopped.aborted ? this.#calls.stop(job) : this.#calls.follow(job);
      };
      try {
        for (;;) {
          const now = await this.#patiently(() => this.#inTurn(ask));
          report(part, now);
          if (isOver(now)) break;
        }
        const { items } = await this.#patiently(() => this.#calls.follow(job, true));
        for (const outcome of items)
          if (outcome.ok !== null) outcomes.push({ ...outcome, index: part.from + outcome.index });
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
        const isBusy = error instanceof ApiFailure && error.status === 429;
        if (state.get().phase === 'lost') await until(state, ({ phase }) => phase !== 'lost');
        else if (!isAway(error) && !isBusy) throw error;
        else await pause(PAUSE);
        if (state.get().phase === 'signedOut') throw error;
      }
    }
  }
}
