import { type Change, keyOf, type Outcome } from '../api/jobs.js';
import { reachesKeys } from '../api/own-interface.js';
import type { Words } from '../i18n/text.js';
import { pause } from '../store/pause.js';
import { createStore, type Store } from '../store/store.js';
import { noteBatch } from './audit-notes.js';
import { type Batch, stoppedText, unsavedIn, VERBS, type Verb } from './batch.js';
import { ChangeOffers, type ChangeText } from './change-offers.js';
import { watchDraft } from './drafts.js';
import { JobRuns } from './job-runs.js';
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

/** The way in which a batch is done. Resolves to the outcomes of what was tried. */
type Run = (batch: Batch, stopped: AbortSignal) => Promise<readonly Outcome[]>;

/** The one way in which the page changes several keys: as jobs of the server where that has jobs, else by single calls. */
export class Batches {
  readonly list: Store<readonly Batch[]> = createStore<readonly Batch[]>([]);
  /** Keys whose deletion was asked for and is not over. */
  readonly leaving: Store<ReadonlySet<string>> = createStore<ReadonlySet<string>>(new Set());
  /** The offers to take changes back. */
  readonly offers: ChangeOffers;
  readonly #workspace: Workspace;
  readonly #runs: JobRuns;
  readonly #stops = new Map<number, AbortController>();
  /** The batches of which something would not be done if the page were left now. */
  readonly #unsent = new Set<number>();
  /** Resolves once the single calls of all batches are made. */
  #called: Promise<unknown> = Promise.resolve();
  #lastId = 0;

  constructor(workspace: Workspace) {
    const { reach, session } = workspace;
    this.#workspace = workspace;
    this.#runs = new JobRuns(workspace);
    this.offers = new ChangeOffers(workspace, (changes) => this.begin('restore', changes));
    watchDraft(() => this.#unsent.size > 0);
    session.onSignOut(() => this.#forget());
    const find = () => {
      if (reachesKeys(reach.get())) void this.#find().catch(() => undefined);
    };
    reach.subscribe(find);
    find();
  }

  /** Begins a batch; `isShown` says that a window shows it. */
  begin(verb: Verb, asked: readonly Change[], isShown = false): Begun {
    const changes = asked.filter(({ item }) => item.op === 'create' || item.access_key !== '');
    const n = asked.length - changes.length;
    if (n > 0) say('bad', (words) => words('batch.emptyKey', { n }));
    this.offers.withdraw(new Set(changes.map(({ item }) => keyOf(item))));
    const run = reachesKeys(this.#workspace.reach.get()) ? this.#runAsJobs : this.#runSingly;
    return this.#start({ verb, changes, total: changes.length, name: this.#titleOf(changes), isShown }, run);
  }

  /** Stops a batch: what is done stays, and nothing is done of one that has not begun. */
  stop(id: number): void {
    this.#stops.get(id)?.abort();
    this.#unsent.delete(id);
    this.#patch(id, { isStopped: true });
  }

  /** Begins what failed of a batch again. */
  again({ id, verb, changes, outcomes }: Batch): void {
    const failed = new Set(outcomes.flatMap(({ index, ok }) => (ok === false ? [index] : [])));
    this.dismiss(id);
    this.begin(
      verb,
      changes.filter((_, index) => failed.has(index)),
    );
  }

  /** Takes a batch that is over out of the list. */
  dismiss(id: number): void {
    this.list.set(this.list.get().filter((batch) => batch.id !== id));
  }

  /** Says that a window shows a batch, or does not any more; one that is over goes with its window. */
  show(id: number, isShown: boolean): void {
    const batch = this.#batch(id);
    if (batch === undefined) return;
    if (batch.phase === 'over' && !isShown) this.dismiss(id);
    else this.#patch(id, { isShown });
  }

  #start(asked: Pick<Batch, 'verb' | 'changes' | 'total' | 'name' | 'isShown'>, run: Run): Begun {
    this.#lastId += 1;
    const batch: Batch = {
      ...asked,
      ...{ id: this.#lastId, phase: VERBS[asked.verb].delay > 0 ? 'soon' : 'running', outcomes: [] },
      ...{ done: 0, failed: 0, isStopped: false, isUnknown: false },
    };
    const { id, changes } = batch;
    const stop = new AbortController();
    this.#stops.set(id, stop);
    this.#unsent.add(id);
    this.list.set([...this.list.get(), batch]);
    this.#tellLeaving();
    const failed = (error: unknown) =>
      changes.map(({ item }, index): Outcome => ({ index, key: keyOf(item), ok: false, error }));
    return {
      id,
      over: run(batch, stop.signal)
        .catch(failed)
        .then((outcomes) => this.#finish(batch, outcomes)),
    };
  }

  /** The title of the first key. */
  #titleOf(changes: readonly Change[]): string {
    const key = keyOf(changes[0]?.item);
    return labelOf({ key, name: this.#workspace.users.state.get().byKey.get(key)?.name ?? '' });
  }

  #batch(id: number): Batch | undefined {
    return this.list.get().find((batch) => batch.id === id);
  }

  #patch(id: number, members: Partial<Batch>): void {
    this.list.set(this.list.get().map((batch) => (batch.id === id ? { ...batch, ...members } : batch)));
  }

  /** Makes the changes once those of earlier batches are made. */
  readonly #runSingly: Run = async ({ id, verb, changes }, stopped) => {
    const outcomes: Outcome[] = [];
    const due = Promise.all([this.#called, pause(VERBS[verb].delay * 1000, stopped)]);
    const isStopped = new Promise((resolve) => stopped.addEventListener('abort', resolve));
    const calls = Promise.race([due, isStopped]).then(() => {
      if (!stopped.aborted) this.#patch(id, { phase: 'running' });
      const items = changes.map(({ item }) => item);
      return changeSingly(this.#workspace, items, stopped, (some) => {
        outcomes.push(...some);
        const failed = outcomes.filter(({ ok }) => ok === false).length;
        this.#patch(id, { done: outcomes.length - failed, failed });
      });
    });
    this.#called = Promise.allSettled([this.#called, calls]);
    await calls;
    return outcomes;
  };

  readonly #runAsJobs: Run = (batch, stopped) => this.#runs.run(batch, stopped, this.#ownerOf(batch));

  #ownerOf({ id }: Batch) {
    return {
      isThere: () => this.#batch(id) !== undefined,
      onSent: () => this.#unsent.delete(id),
      onProgress: (progress: Partial<Batch>) => this.#patch(id, progress),
    };
  }

  async #finish(begun: Batch, outcomes: readonly Outcome[]): Promise<Batch> {
    const { id, changes } = begun;
    const good = outcomes.filter(({ ok }) => ok === true);
    const bad = outcomes.filter(({ ok }) => ok === false);
    this.#stops.delete(id);
    this.#unsent.delete(id);
    await this.#workspace.contact.now();
    const known = this.#batch(id);
    if (known === undefined) return begun;
    this.#note(begun, outcomes);
    const isStopped = good.length + bad.length < known.total;
    const over: Batch = { ...known, phase: 'over', done: good.length, failed: bad.length, outcomes };
    this.#unselect(over, isStopped);
    const made = good.some(({ index }) => changes[index]?.item.op === 'create');
    if (bad.length > 0 || unsavedIn(over) !== null || known.isShown || made) this.#patch(id, over);
    else this.dismiss(id);
    this.#tellLeaving();
    if (!known.isShown) this.#tell(over, isStopped);
    else this.#offerBack(over, ({ length }, words) => words('batch.done.other', { n: length }));
    return over;
  }

  /** Says how it went; what failed is told by the bar. */
  #tell(batch: Batch, isStopped: boolean): void {
    if (!isStopped && batch.done === 0) return;
    const text = (words: Words) =>
      isStopped ? stoppedText(batch, words) : words(`batch.done.${batch.verb}`, { n: batch.done });
    if (!this.#offerBack(batch, (_, words) => text(words))) say(isStopped ? 'plain' : 'good', text);
  }

  /** Says what was done of a batch with the offer to take it back. Returns false, and says nothing, where nothing can be. */
  #offerBack(batch: Batch, text: ChangeText): boolean {
    const changed = batch.outcomes.flatMap(({ index, ok }) => {
      const change = ok === true ? batch.changes[index] : undefined;
      return change?.back === undefined ? [] : [change];
    });
    // A batch that was begun later may have changed the same keys.
    const isUndoable = changed.length > 0 && batch.id === this.#lastId;
    if (isUndoable) this.offers.make(text, changed);
    return isUndoable;
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
    const going = this.list.get().filter(({ verb, phase }) => verb === 'delete' && phase !== 'over');
    this.leaving.set(new Set(going.flatMap(({ changes }) => changes.map(({ item }) => keyOf(item)))));
  }

  #forget(): void {
    this.offers.withdraw();
    this.#unsent.clear();
    this.#runs.forget();
    // What the server has taken goes on: nobody follows it here any more.
    this.list.set([]);
    for (const stop of this.#stops.values()) stop.abort();
    this.#tellLeaving();
  }

  /** Shows the jobs that were begun elsewhere, or before the page was loaded. */
  async #find(): Promise<void> {
    for (const job of await this.#runs.unfinished())
      this.#start({ verb: 'other', changes: [], total: job.total, name: '', isShown: false }, (batch, stopped) =>
        this.#runs.goOn(batch, job, stopped, this.#ownerOf(batch)),
      );
  }
}

export const batchesOf = perWorkspace((workspace) => new Batches(workspace));
