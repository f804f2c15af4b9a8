import { ApiFailure, isAway } from '../api/failure.js';
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
import { isObject } from '../api/objects.js';
import { wordsIn } from '../i18n/text.js';
import { keptInTab } from '../store/kept.js';
import { pause } from '../store/pause.js';
import { preferences } from '../store/preferences.js';
import { createStore, type Store, until } from '../store/store.js';
import { encodeExact, parsed } from '../text/exact-json.js';
import { noteBatch } from './audit-notes.js';
import { type Batch, stoppedText, VERBS, type Verb } from './batch.js';
import { watchDraft } from './drafts.js';
import { keysViewOf } from './keys-view.js';
import { labelOf } from './named-keys.js';
import { perWorkspace } from './per-workspace.js';
import { changeSingly } from './single-calls.js';
import { say } from './toasts.js';
import type { Workspace } from './workspace.js';

/** A batch that has begun. */
interface Begun {
  readonly id: number;
  /** Resolves with it once it is over. */
  readonly over: Promise<Batch>;
}

/** The changes that one job of the server makes, beginning at `from`. */
interface Part {
  readonly from: number;
  readonly count: number;
  /** Its `Idempotency-Key`. */
  readonly once: string;
  /** Null until the server has taken it. */
  readonly job: string | null;
}

/** A batch as the tab keeps it over a reload. */
interface Kept {
  readonly verb: Verb;
  /** The title of its first key. */
  readonly name: string;
  /** The changes that may still have to be done. */
  readonly changes: readonly Change[];
  /** Milliseconds since the epoch. */
  readonly begunAt: number;
  /** Null where its changes are single calls of the page. */
  readonly parts: readonly Part[] | null;
}

/** Milliseconds between two tries while the server is away. */
const PAUSE = 2_000;
/** Milliseconds in which a batch is sent again that the server may not have taken. */
const SENT_AGAIN = 600_000;
/** The most changes of a batch that are kept once the server has taken it: of a larger one its jobs alone are. */
const MOST_KEPT = 10_000;
/** Seconds that the server lets a batch wait at most. */
const LONGEST_DELAY = 60;
/** Milliseconds in which limits can be given back. */
const OFFERED = 15_000;

/** The one way in which the page changes several keys: as a job of the server where that has jobs, else by single calls. */
export class Batches {
  readonly list: Store<readonly Batch[]> = createStore<readonly Batch[]>([]);
  /** Keys whose deletion was asked for and is not over. */
  readonly leaving: Store<ReadonlySet<string>> = createStore<ReadonlySet<string>>(new Set());
  readonly #workspace: Workspace;
  readonly #calls: ReturnType<typeof jobCalls>;
  readonly #kept = new Map<number, Kept>();
  readonly #stops = new Map<number, AbortController>();
  /** The places of changes that single calls have tried. */
  readonly #tried = new Map<number, Set<number>>();
  /** Batches kept before the page was loaded, until they can be gone on with. */
  #before: readonly Kept[];
  /** Only one question waits for its answer at a time: a browser has few connections. */
  #turn: Promise<unknown> = Promise.resolve();
  #lastId = 0;
  /** A batch that was begun before may have been sent before. */
  readonly #loadedAt = Date.now();
  /** Takes the last offer to give limits back away: they may be others after the next batch. */
  #withdraw: () => void = () => undefined;

  constructor(workspace: Workspace) {
    const { own, reach, session } = workspace;
    this.#workspace = workspace;
    this.#calls = jobCalls(own);
    this.#before = readKept(keptInTab.read(this.#place));
    window.addEventListener('pagehide', () => this.#keep());
    watchDraft(() => this.#wouldLose());
    let { phase: before } = session.state.get();
    session.state.subscribe(() => {
      const { phase } = session.state.get();
      // Somebody who has to sign in first goes on afterwards; one who signs out does not.
      if (phase === 'signedOut' && before !== 'starting') this.#forget();
      before = phase;
    });
    const resume = () => {
      if (reach.get() !== null) void this.#resume().catch(() => undefined);
    };
    reach.subscribe(resume);
    resume();
  }

  /** Begins a batch; `isShown` says that a window shows it. */
  begin(verb: Verb, asked: readonly Change[], isShown = false): Begun {
    const words = wordsIn(preferences.get().language);
    this.#withdraw();
    const changes = asked.filter(({ item }) => item.op === 'create' || item.access_key !== '');
    if (changes.length < asked.length)
      say({ tone: 'bad', text: words('batch.emptyKey', { n: asked.length - changes.length }) });
    const reach = this.#workspace.reach.get();
    const parts = reach === null || reach === 'none' ? null : partsOf(changes);
    return this.#start({ verb, name: this.#titleOf(changes), changes, begunAt: Date.now(), parts }, { isShown });
  }

  /** Stops a batch: what is done stays, and nothing is done of one that has not begun. */
  stop(id: number): void {
    this.#stops.get(id)?.abort();
    // Whoever follows the job tries again where this fails.
    for (const { job } of this.#kept.get(id)?.parts ?? [])
      if (job !== null) this.#calls.stop(job).catch(() => undefined);
  }

  /** Begins what failed of a batch, or what is left of it, anew. */
  again({ id, verb, changes, outcomes, phase }: Batch): void {
    const failed = new Set(outcomes.flatMap(({ index, ok }) => (ok === false ? [index] : [])));
    this.dismiss(id);
    this.begin(verb, phase === 'left' ? changes : changes.filter((_, index) => failed.has(index)));
  }

  /** Takes a batch that is over, or left, out of the list. */
  dismiss(id: number): void {
    this.#forgetOne(id);
    this.list.set(this.list.get().filter((batch) => batch.id !== id));
  }

  /** Says that a window shows a batch, or does not any more; one that is over goes with its window. */
  show(id: number, isShown: boolean): void {
    const batch = this.#find(id);
    if (batch === undefined) return;
    if (batch.phase === 'over' && !isShown) this.dismiss(id);
    else this.#patch(id, { isShown });
  }

  #start(kept: Kept, more: Partial<Batch> = {}): Begun {
    const batch = this.#add(kept, { phase: VERBS[kept.verb].delay > 0 ? 'soon' : 'running', ...more });
    const stop = new AbortController();
    this.#stops.set(batch.id, stop);
    this.#tellLeaving();
    const run = kept.parts === null ? this.#runSingly(batch, stop.signal) : this.#runAsJobs(batch, stop.signal);
    const failed = (error: unknown) =>
      batch.changes.map(({ item }, index): Outcome => ({ index, key: keyOf(item), ok: false, error }));
    return { id: batch.id, over: run.catch(failed).then((outcomes) => this.#finish(batch, outcomes)) };
  }

  /** The title of the first key. */
  #titleOf(changes: readonly Change[]): string {
    const key = keyOf(changes[0]?.item);
    return labelOf({ key, name: this.#workspace.users.state.get().byKey.get(key)?.name ?? '' });
  }

  #add(kept: Kept, more: Partial<Batch>): Batch {
    this.#lastId += 1;
    const { verb, name, changes } = kept;
    const batch: Batch = {
      ...{ id: this.#lastId, verb, changes, name, phase: 'running' },
      total: kept.parts?.reduce((sum, { count }) => sum + count, 0) ?? changes.length,
      ...{ done: 0, failed: 0, outcomes: [], isUnknown: false, isShown: false, ...more },
    };
    this.#kept.set(batch.id, kept);
    this.#keep();
    this.list.set([...this.list.get(), batch]);
    return batch;
  }

  #find(id: number): Batch | undefined {
    return this.list.get().find((batch) => batch.id === id);
  }

  #patch(id: number, members: Partial<Batch>): void {
    this.list.set(this.list.get().map((batch) => (batch.id === id ? { ...batch, ...members } : batch)));
  }

  async #runSingly({ id, verb, changes }: Batch, stopped: AbortSignal): Promise<readonly Outcome[]> {
    const outcomes: Outcome[] = [];
    const tried = new Set<number>();
    this.#tried.set(id, tried);
    const { delay } = VERBS[verb];
    if (delay > 0) await pause(delay * 1000, stopped);
    if (!stopped.aborted) this.#patch(id, { phase: 'running' });
    const items = changes.map(({ item }) => item);
    await changeSingly(this.#workspace, items, stopped, (some) => {
      outcomes.push(...some);
      const failed = outcomes.filter(({ ok }) => ok === false).length;
      this.#patch(id, { done: outcomes.length - failed, failed });
      // Leaving the page ends calls, too, before it is left.
      for (const { index, error } of some) if (!isAway(error)) tried.add(index);
    });
    return outcomes;
  }

  async #runAsJobs(batch: Batch, stopped: AbortSignal): Promise<readonly Outcome[]> {
    const refused = await this.#sendParts(batch, stopped);
    return this.#find(batch.id) === undefined ? refused : [...refused, ...(await this.#followParts(batch, stopped))];
  }

  /** Sends the parts that the server has not taken yet. Resolves to the outcomes of those that it refused. */
  async #sendParts({ id, verb, changes }: Batch, stopped: AbortSignal): Promise<readonly Outcome[]> {
    const kept = this.#kept.get(id);
    if (kept?.parts == null) return [];
    const parts = [...kept.parts];
    const refused: Outcome[] = [];
    for (const [place, part] of parts.entries()) {
      if (part.job !== null) continue;
      // Whoever signs out sends nothing more.
      if (this.#find(id) === undefined) break;
      const items = changes.slice(part.from, part.from + part.count).map(({ item }) => item);
      let isSent = kept.begunAt < this.#loadedAt;
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
      } catch (error) {
        refused.push(
          ...items.map((item, index): Outcome => ({ index: part.from + index, key: keyOf(item), ok: false, error })),
        );
        continue;
      }
      this.#kept.set(id, { ...kept, parts: [...parts] });
      this.#keep();
    }
    return refused;
  }

  /** Follows the parts that the server has taken to their ends. Resolves to the outcomes of their changes. */
  async #followParts({ id, verb }: Batch, stopped: AbortSignal): Promise<readonly Outcome[]> {
    const outcomes: Outcome[] = [];
    const seen = new Map<Part, Job>();
    const report = (part: Part, job: Job) => {
      seen.set(part, job);
      const sum = (count: (job: Job) => number) => [...seen.values()].reduce((total, each) => total + count(each), 0);
      const isSoon = job.state === 'waiting' && VERBS[verb].delay > 0;
      this.#patch(id, {
        phase: isSoon ? 'soon' : 'running',
        done: sum((each) => each.done),
        failed: sum((each) => each.failed),
      });
    };
    for (const part of this.#kept.get(id)?.parts ?? []) {
      const { job } = part;
      if (job === null) continue;
      const ask = async () => {
        // Whoever signs out leaves his batches to the server.
        if (this.#find(id) === undefined) throw new ApiFailure('unauthorized');
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
        this.#patch(id, { isUnknown: true });
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
    const { state } = this.#workspace.session;
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

  async #finish(begun: Batch, outcomes: readonly Outcome[]): Promise<Batch> {
    const { id, changes } = begun;
    const good = outcomes.filter(({ ok }) => ok === true);
    const bad = outcomes.filter(({ ok }) => ok === false);
    this.#stops.delete(id);
    if (this.#find(id) === undefined) return begun;
    this.#note(begun, outcomes);
    await this.#workspace.contact.now();
    const known = this.#find(id);
    if (known === undefined) return begun;
    const isStopped = good.length + bad.length < known.total;
    const over: Batch = { ...known, phase: 'over', done: good.length, failed: bad.length, outcomes };
    this.#unselect(over, isStopped);
    // A question that a server which was away has not answered stays kept, until somebody has seen it.
    if (!bad.some(({ error }) => isAway(error))) this.#forgetOne(id);
    const made = good.some(({ index }) => changes[index]?.item.op === 'create');
    if (bad.length > 0 || known.isShown || made) this.#patch(id, over);
    else this.dismiss(id);
    this.#tellLeaving();
    if (!known.isShown) this.#tell(over, isStopped);
    return over;
  }

  /** Says how it went; what failed is told by the bar. */
  #tell(batch: Batch, isStopped: boolean): void {
    const words = wordsIn(preferences.get().language);
    // A batch that was begun later may have changed the same limits.
    const isLast = batch.id === this.#lastId;
    const back = batch.outcomes.flatMap(({ index, ok }) => {
      const item = isLast && ok === true ? batch.changes[index]?.back : undefined;
      return item === undefined ? [] : [{ item }];
    });
    const action = { label: words('action.undo'), run: () => this.begin('restore', back) };
    const offer = back.length > 0 && { action, lasts: OFFERED };
    if (!isStopped && batch.done === 0) return;
    const text = isStopped ? stoppedText(batch, words) : words(`batch.done.${batch.verb}`, { n: batch.done });
    const dismiss = say({ tone: isStopped ? 'plain' : 'good', text, ...offer });
    if (back.length > 0) this.#withdraw = dismiss;
  }

  #note({ verb, changes }: Batch, outcomes: readonly Outcome[]): void {
    for (const [op, event] of Object.entries(VERBS[verb].events)) {
      const its = outcomes.filter(({ index }) => changes[index]?.item.op === op);
      const done = its.filter(({ ok }) => ok === true).length;
      noteBatch(this.#workspace, event, done, its.length - done);
    }
  }

  /** Unselects what was done, not what failed; where all was done, nothing but what was deleted. */
  #unselect({ verb, outcomes, failed }: Batch, isStopped: boolean): void {
    if (failed === 0 && !isStopped && verb !== 'delete') return;
    const view = keysViewOf(this.#workspace);
    const done = new Set(outcomes.flatMap(({ key, ok }) => (ok === true ? [key] : [])));
    view.patch({ selected: new Set([...view.get().selected].filter((key) => !done.has(key))) });
  }

  #tellLeaving(): void {
    const going = this.list
      .get()
      .filter(({ verb, phase }) => verb === 'delete' && phase !== 'over' && phase !== 'left');
    this.leaving.set(new Set(going.flatMap(({ changes }) => changes.map(({ item }) => keyOf(item)))));
  }

  get #place(): string {
    return `keyway:batches:${this.#workspace.place.root}`;
  }

  #forgetOne(id: number): void {
    this.#kept.delete(id);
    this.#tried.delete(id);
    this.#keep();
  }

  #keep(): void {
    const rest = [...this.#kept].map(([id, kept]) => {
      const tried = this.#tried.get(id);
      if (tried === undefined)
        return kept.changes.length > MOST_KEPT && isTaken(kept) ? { ...kept, changes: [] } : kept;
      const changes = kept.changes.filter((_, index) => !tried.has(index));
      return { ...kept, name: this.#titleOf(changes), changes };
    });
    const all = [...this.#before, ...rest];
    keptInTab.write(this.#place, all.length === 0 ? null : encodeExact(all));
  }

  /** Returns true where something would not be done if the page were left now. */
  #wouldLose(): boolean {
    const isRunning = ([id]: readonly [number, Kept]) => this.#stops.has(id);
    return [...this.#kept].filter(isRunning).some(([, kept]) => !isTaken(kept));
  }

  #forget(): void {
    this.#withdraw();
    for (const stop of this.#stops.values()) stop.abort();
    this.#before = [];
    this.#kept.clear();
    this.#keep();
    this.list.set([]);
    this.#tellLeaving();
  }

  /** Finds the jobs again that were begun before, and offers what only the page could have done. */
  async #resume(): Promise<void> {
    const reach = this.#workspace.reach.get();
    const before = this.#before;
    this.#before = [];
    for (const kept of before) {
      // A batch that was on its way is sent again: under its `Idempotency-Key` it is done once.
      const isOnItsWay = kept.parts !== null && Date.now() < kept.begunAt + SENT_AGAIN;
      if (reach !== 'none' && (isTaken(kept) || isOnItsWay)) this.#start(kept);
      else if (!isTaken(kept)) this.#add({ ...kept, parts: null }, { phase: 'left' });
    }
    if (reach === 'none') return;
    for (const { id: job, total } of (await this.#calls.all()).filter((each) => !isOver(each)).reverse()) {
      const isKnown = [...this.#kept.values()].some(({ parts }) => parts?.some((part) => part.job === job) === true);
      const parts = [{ from: 0, count: total, once: '', job }];
      if (!isKnown) this.#start({ verb: 'other', name: '', changes: [], begunAt: 0, parts });
    }
  }
}

/** Returns true where the server does it all without the page. */
function isTaken({ parts }: Kept): boolean {
  return parts?.every(({ job }) => job !== null) === true;
}

export const batchesOf = perWorkspace((workspace) => new Batches(workspace));

/** Cuts changes into as many jobs as the server takes them in. */
function partsOf(changes: readonly Change[]): readonly Part[] {
  const parts: { from: number; count: number; once: string; job: null }[] = [];
  let characters = 0;
  for (const [from, { item }] of changes.entries()) {
    const last = parts.at(-1);
    characters += encodeExact(item).length;
    if (last !== undefined && last.count < MOST_ITEMS && characters < MOST_CHARACTERS) last.count += 1;
    else {
      characters = 0;
      const once = [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join('-');
      parts.push({ from, count: 1, once, job: null });
    }
  }
  return parts;
}

function readKept(text: string | null): readonly Kept[] {
  const kept = parsed(text);
  // Written by `#keep` alone.
  return Array.isArray(kept) ? (kept.filter(isObject) as unknown as readonly Kept[]) : [];
}
