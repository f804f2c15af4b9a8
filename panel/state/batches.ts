import { isAway } from '../api/failure.js';
import { type Change, keyOf, type Outcome } from '../api/jobs.js';
import type { Words } from '../i18n/text.js';
import { pause } from '../store/pause.js';
import { createStore, type Store } from '../store/store.js';
import { inTurns, UNENDED } from '../text/steps.js';
import { noteBatch } from './audit-notes.js';
import { type Batch, stoppedText, VERBS, type Verb } from './batch.js';
import { watchDraft } from './drafts.js';
import { JobRuns } from './job-runs.js';
import {
  encodeChanges,
  isCopy,
  isTaken,
  type KeptBatch,
  keepBatches,
  partsOf,
  readBatches,
  untakenOf,
} from './kept-batches.js';
import { keysViewOf } from './keys-view.js';
import { LimitOffer } from './limit-offer.js';
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

/** Milliseconds in which a batch is sent again that the server may not have taken. */
const SENT_AGAIN = 600_000;

/** The one way in which the page changes several keys: as jobs of the server where that has jobs, else by single calls. */
export class Batches {
  readonly list: Store<readonly Batch[]> = createStore<readonly Batch[]>([]);
  /** Keys whose deletion was asked for and is not over. */
  readonly leaving: Store<ReadonlySet<string>> = createStore<ReadonlySet<string>>(new Set());
  /** False while the tab has no room for what would have to be kept over a reload. */
  readonly areKept: Store<boolean> = createStore(true);
  readonly #workspace: Workspace;
  readonly #runs: JobRuns;
  readonly #offer: LimitOffer;
  readonly #kept = new Map<number, KeptBatch>();
  readonly #stops = new Map<number, AbortController>();
  /** The places of changes that single calls have tried. */
  readonly #tried = new Map<number, Set<number>>();
  /** Batches kept before the page was loaded, until they can be gone on with. */
  #before: readonly KeptBatch[];
  readonly #isCopy: Promise<boolean>;
  #lastId = 0;
  /** Resolves once every batch that has begun is cut into its jobs and kept. */
  #prepared: Promise<unknown> = Promise.resolve();

  constructor(workspace: Workspace) {
    const { reach, session } = workspace;
    this.#workspace = workspace;
    this.#runs = new JobRuns(workspace);
    this.#offer = new LimitOffer(workspace, {
      giveBack: (changes) => this.begin('restore', changes),
      onEnd: () => this.#keep(),
    });
    this.#before = readBatches(this.#place);
    this.#isCopy = isCopy(this.#place, this.#before);
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
    this.#offer.withdraw();
    const changes = asked.filter(({ item }) => item.op === 'create' || item.access_key !== '');
    const n = asked.length - changes.length;
    if (n > 0) say('bad', (words) => words('batch.emptyKey', { n }));
    const reach = this.#workspace.reach.get();
    const kept = { verb, name: this.#titleOf(changes), changes, begunAt: Date.now(), parts: null };
    return this.#start(kept, { isShown }, reach !== null && reach !== 'none');
  }

  /** Stops a batch: what is done stays, and nothing is done of one that has not begun. */
  stop(id: number): void {
    this.#stops.get(id)?.abort();
    this.#change(id, { isStopped: true });
    this.#patch(id, { isStopped: true });
    this.#runs.stop(this.#kept.get(id)?.parts ?? []);
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

  #start(kept: KeptBatch, more: Partial<Batch> = {}, asJobs = true): Begun {
    const isStopped = kept.isStopped === true;
    const batch = this.#add(kept, { phase: VERBS[kept.verb].delay > 0 ? 'soon' : 'running', isStopped, ...more });
    const stop = new AbortController();
    this.#stops.set(batch.id, stop);
    if (isStopped) stop.abort();
    this.#tellLeaving();
    const prepared = this.#prepare(batch, asJobs, stop.signal);
    this.#prepared = Promise.all([this.#prepared, prepared]);
    const run = prepared.then(() =>
      asJobs ? this.#runAsJobs(batch, stop.signal) : this.#runSingly(batch, stop.signal),
    );
    const failed = (error: unknown) =>
      batch.changes.map(({ item }, index): Outcome => ({ index, key: keyOf(item), ok: false, error }));
    return { id: batch.id, over: run.catch(failed).then((outcomes) => this.#finish(batch, outcomes)) };
  }

  /** Cuts a batch into its jobs where it has none yet, and keeps it. Stopped meanwhile, it has none. */
  async #prepare({ id, changes }: Batch, asJobs: boolean, stopped: AbortSignal): Promise<void> {
    const parts = asJobs && this.#kept.get(id)?.parts === null ? await inTurns(partsOf(changes), stopped) : null;
    await inTurns(encodeChanges(changes), UNENDED);
    this.#change(id, parts === null ? {} : { parts });
  }

  /** The title of the first key. */
  #titleOf(changes: readonly Change[]): string {
    const key = keyOf(changes[0]?.item);
    return labelOf({ key, name: this.#workspace.users.state.get().byKey.get(key)?.name ?? '' });
  }

  #add(kept: KeptBatch, more: Partial<Batch>): Batch {
    this.#lastId += 1;
    const { verb, name, changes } = kept;
    const batch: Batch = {
      ...{ id: this.#lastId, verb, changes, name, phase: 'running' },
      total: kept.parts?.reduce((sum, { count }) => sum + count, 0) ?? changes.length,
      ...{ done: 0, failed: 0, outcomes: [], isStopped: false, isUnknown: false, isShown: false, ...more },
    };
    this.#kept.set(batch.id, kept);
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

  async #runAsJobs({ id }: Batch, stopped: AbortSignal): Promise<readonly Outcome[]> {
    const kept = this.#kept.get(id);
    if (kept === undefined) return [];
    return this.#runs.run(kept, stopped, {
      isThere: () => this.#find(id) !== undefined,
      onParts: (parts) => this.#change(id, { parts }),
      onProgress: (progress) => this.#patch(id, progress),
    });
  }

  async #finish(begun: Batch, outcomes: readonly Outcome[]): Promise<Batch> {
    const { id, changes } = begun;
    const good = outcomes.filter(({ ok }) => ok === true);
    const bad = outcomes.filter(({ ok }) => ok === false);
    this.#stops.delete(id);
    await this.#workspace.contact.now();
    const known = this.#find(id);
    if (known === undefined) return begun;
    // With the end of what is kept: after a reload in between it would be noted again.
    this.#note(begun, outcomes);
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
    if (!isStopped && batch.done === 0) return;
    const tone = isStopped ? 'plain' : 'good';
    const text = (words: Words) =>
      isStopped ? stoppedText(batch, words) : words(`batch.done.${batch.verb}`, { n: batch.done });
    const changed = batch.outcomes.flatMap(({ index, ok }) => {
      const change = ok === true ? batch.changes[index] : undefined;
      return change?.back === undefined ? [] : [change];
    });
    // A batch that was begun later may have changed the same limits.
    if (changed.length === 0 || batch.id !== this.#lastId) say(tone, text);
    else this.#offer.make(tone, text, { verb: batch.verb, name: batch.name, changes: changed, begunAt: 0, parts: [] });
    this.#keep();
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

  /** Changes what is kept of a batch. */
  #change(id: number, members: Partial<KeptBatch>): void {
    const kept = this.#kept.get(id);
    if (kept === undefined) return;
    this.#kept.set(id, { ...kept, ...members });
    this.#keep();
  }

  #forgetOne(id: number): void {
    this.#kept.delete(id);
    this.#tried.delete(id);
    this.#keep();
  }

  #keep(): void {
    const rest = [...this.#kept].map(([id, kept]) => {
      const tried = this.#tried.get(id);
      if (tried === undefined) return kept;
      const changes = kept.changes.filter((_, index) => !tried.has(index));
      return { ...kept, name: this.#titleOf(changes), changes };
    });
    this.areKept.set(keepBatches(this.#place, [...this.#before, ...rest, ...this.#offer.kept]));
  }

  /** Returns true where something would not be done if the page were left now. */
  #wouldLose(): boolean {
    return [...this.#kept].some(([id, kept]) => this.#stops.has(id) && !isTaken(kept) && kept.isStopped !== true);
  }

  #forget(): void {
    this.#offer.withdraw();
    for (const stop of this.#stops.values()) stop.abort();
    this.#before = [];
    this.#kept.clear();
    this.#keep();
    this.list.set([]);
    this.#tellLeaving();
  }

  /** Finds the jobs again that were begun before, and offers what only the page could have done. */
  async #resume(): Promise<void> {
    const before = (await this.#isCopy) ? [] : this.#before;
    const reach = this.#workspace.reach.get();
    this.#before = [];
    for (const kept of before) {
      // A batch that was on its way is sent again: under its `Idempotency-Key` it is done once.
      const isOnItsWay = kept.parts !== null && Date.now() < kept.begunAt + SENT_AGAIN;
      if (kept.endedAt !== undefined) this.#offer.resume(kept);
      else if (reach !== 'none' && (isTaken(kept) || isOnItsWay)) this.#start(kept);
      else if (!isTaken(kept) && kept.isStopped !== true) {
        const changes = untakenOf(kept);
        this.#add({ ...kept, name: this.#titleOf(changes), changes, parts: null }, { phase: 'left' });
      }
    }
    this.#keep();
    if (reach === 'none') return;
    await this.#prepared;
    for (const { id: job, total } of await this.#runs.unfinished()) {
      const isKnown = [...this.#kept.values()].some(({ parts }) => parts?.some((part) => part.job === job) === true);
      const parts = [{ from: 0, count: total, once: '', job }];
      if (!isKnown) this.#start({ verb: 'other', name: '', changes: [], begunAt: 0, parts });
    }
  }
}

export const batchesOf = perWorkspace((workspace) => new Batches(workspace));
