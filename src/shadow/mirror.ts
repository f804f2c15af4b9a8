import { type Caller, isSuccess } from '../client/call.js';
import { createCaller } from '../client/caller.js';
import { messageOf } from '../core/errors.js';
import { showsNamedToken } from '../core/named-tokens.js';
import { effectOf, type MatchedRequest } from '../replay/format/effects.js';
import { accessOf, OPERATIONS, type Operation, operationNamed } from '../wire/operations.js';
import { Comparison, causeOf } from './comparison.js';
import { Divergence, touchesKeys } from './divergence.js';
import { type ExpectedDifference, Judge } from './judge.js';
import { KeySync } from './key-sync.js';
import { type OpeningOptions, openPair, ShadowRefused, withoutSecrets } from './opening.js';
import { matchedIn, oldEntriesOf, type Pair } from './pair.js';
import { SecondReads } from './second-reads.js';
import { type DifferenceKind, leftOut, type Outcome, programOf, type Tally } from './tally.js';
import { keysWritten, machineTime, type Passed } from './traffic.js';
import { statusesOf, UpdateWatch } from './update-watch.js';

export interface MirrorOptions extends OpeningOptions {
  readonly expected: readonly ExpectedDifference[];
  readonly timeoutMilliseconds: number;
  /** Milliseconds between two looks at the keys of both. */
  readonly followEvery: number;
  readonly tally: Tally;
  /** Told of an exchange that showed kinds of differences for the first time. */
  readonly onDifference: (passed: Passed, kinds: readonly DifferenceKind[], target: Pair['target']) => void;
}

/** The pair that was begun with, only as long as both servers stay what they are. */
interface Begun {
  readonly pair: Pair;
  readonly comparison: Comparison;
  readonly watch: UpdateWatch;
  /** Milliseconds of the machine's clock: what began before is not compared. */
  readonly at: number;
}

const BEGIN_AGAIN = 5_000;

/** Gives a shadow what passes between clients and a target, keeps its state equal, and counts what it answers otherwise. */
export class Mirror {
  readonly #options: MirrorOptions;
  readonly #targetCaller: Caller;
  readonly #secondReads: SecondReads;
  readonly #divergence = new Divergence();
  readonly #keys: KeySync;
  #begun: Begun | null = null;
  #wasBegun = false;
  #beginNotBefore = Number.NEGATIVE_INFINITY;
  /** The `Authorization` that the target accepted last from a client; in memory alone. */
  #borrowed: string | null = null;

  constructor(options: MirrorOptions) {
    const { target, timeoutMilliseconds, shadow, followEvery: every, clock, tally } = options;
    const { origin, ca } = target;
    const now = () => clock.monotonic();
    this.#options = options;
    this.#targetCaller = createCaller({ origin, timeoutMilliseconds, ...(ca === null ? {} : { ca }) });
    this.#secondReads = new SecondReads(this.#targetCaller, now);
    const note = (sentence: string) => tally.note(sentence);
    const readsOnly = !('line' in shadow) && !shadow.writes;
    this.#keys = new KeySync({ every, readsOnly, divergence: this.#divergence, now, note });
  }

  /** Begins where a credential for the target is known. Rejects with `ShadowRefused` alone. */
  async begin(): Promise<void> {
    if (this.#authorization() !== null) await this.#tryToBegin();
  }

  /** Takes one exchange; to be awaited before the next. Rejects with `ShadowRefused` alone. */
  async take(passed: Passed): Promise<void> {
    const matched = matchedIn(passed, this.#begun?.pair ?? null);
    this.#borrow(passed, matched);
    if (this.#begun === null) await this.#tryToBegin();
    else if (this.#keys.isWanted) await this.follow();
    const begun = this.#begun;
    const outcome = await this.#outcomeOf(passed, matched, begun);
    const client = programOf(passed.requestHeaders.get('user-agent'));
    const name = matched?.operation.name ?? (passed.method === 'OPTIONS' ? 'cors' : 'unmatched');
    const fresh = this.#options.tally.add(client, name, outcome);
    if (fresh.length > 0 && begun !== null) this.#options.onDifference(passed, fresh, begun.pair.target);
  }

  /** A write of an operation, or of none, that ended by a time of the machine's clock never comes here: what it may have changed at the target is looked for. */
  lost(operation: string, at: number): void {
    this.#miss(OPERATIONS.find(({ name }) => name === operation) ?? null, [], at);
  }

  /** Finds out what changed at the target without passing, when it is time. To be awaited between two exchanges. */
  async follow(): Promise<void> {
    const begun = this.#begun;
    if (begun === null || !this.#keys.isDue) return;
    try {
      const at = machineTime();
      const change = begun.watch.changeIn(await statusesOf(begun.pair), at);
      if (change === null) await this.#keys.look(begun.pair);
      else await this.#endFor(change, begun);
    } catch (error) {
      this.#options.tally.note(`the keys of both could not be held together: ${messageOf(error)}`);
    }
  }

  async close(): Promise<void> {
    this.#targetCaller.close();
    await this.#begun?.pair.shadow.close();
  }

  #authorization(): string | null {
    const { token } = this.#options.target;
    return token === null ? this.#borrowed : `Bearer ${token}`;
  }

  /** Keeps the credential of a client, where the answer shows that the target accepted it, and for all that a shadow asks. */
  #borrow({ requestHeaders, status }: Passed, matched: MatchedRequest | null): void {
    const shown = requestHeaders.get('authorization');
    if (shown === undefined || matched === null || !isSuccess(status)) return;
    const { operation } = matched;
    const lines = this.#begun === null ? this.#options.lines.all : [this.#begun.pair.target.found.revision];
    const isChecked = lines.every((line) => accessOf(operation, line) === 'protected');
    if (isChecked && (operation.presets.length === 0 || !showsNamedToken(shown))) this.#borrowed = shown;
  }

  async #tryToBegin(): Promise<void> {
    const { expected, target, shadow, prepares, clock, tally } = this.#options;
    if (this.#authorization() === null || clock.monotonic() < this.#beginNotBefore) return;
    const note = (sentence: string) => tally.note(sentence);
    try {
      const pair = await openPair({
        ...this.#options,
        // What was accepted once is made equal again: clients have gone on meanwhile.
        prepares: prepares || (this.#wasBegun && !('line' in shadow) && shadow.writes),
        caller: this.#targetCaller,
        authorization: () => this.#authorization(),
        divergence: this.#divergence,
        note,
      });
      const [from, to] = [pair.target.found, pair.shadow.server.found];
      const bases = { target: from.target.base, shadow: to.target.base };
      const oldEntries = await oldEntriesOf(pair);
      const judge = new Judge({ from: from.revision, to: to.revision, bases, oldEntries, expected });
      const watch = new UpdateWatch(pair);
      const parts = { pair, judge, watch, divergence: this.#divergence, keys: this.#keys, note };
      const comparison = new Comparison({ ...parts, secondReads: this.#secondReads });
      this.#begun = { pair, comparison, watch, at: machineTime() };
      this.#wasBegun = true;
      // The report names a shadow only once what passes is compared.
      tally.began(
        { place: target.origin, line: from.revision.id, version: from.version },
        { place: pair.shadow.place, line: to.revision.id, version: to.version },
        from.revision,
      );
      // Changes that came while it began are found at once.
      this.#keys.request();
    } catch (error) {
      // A run that has begun goes on for its clients, and tries again.
      if (error instanceof ShadowRefused && !this.#wasBegun) throw error;
      this.#beginNotBefore = clock.monotonic() + BEGIN_AGAIN;
      note(`the shadow could not begin: ${withoutSecrets(messageOf(error), this.#options)}`);
    }
  }

  async #outcomeOf(passed: Passed, matched: MatchedRequest | null, begun: Begun | null): Promise<Outcome> {
    const operation = matched?.operation ?? null;
    const isWrite = effectOf({ method: passed.method, path: passed.path, root: 'server' }).kind !== 'reads';
    // A server that fails may have done what it was asked for.
    const isMissed = isWrite && (isSuccess(passed.status) || passed.status >= 500);
    if (begun === null || passed.startedAt < begun.at) {
      if (isMissed) this.#miss(operation);
      if (begun !== null) return leftOut('it passed while the shadow began');
      return leftOut(this.#authorization() === null ? 'no credential yet' : 'the shadow has not begun');
    }
    try {
      const compared = await begun.comparison.compare(passed, matched, isWrite);
      if (compared.kind === 'changed') await this.#endFor(compared.change, begun);
      else if (compared.kind !== 'withheld') return compared;
      else if (isMissed) this.#miss(operation, isSuccess(passed.status) ? keysWritten(passed) : []);
      return leftOut(compared.kind === 'withheld' ? compared.why : 'one of the two is another now');
    } catch (error) {
      if (isMissed) this.#miss(operation);
      return leftOut(`the shadow could not be asked: ${causeOf(error)}`);
    }
  }

  /** A write that the shadow does not get. */
  #miss(operation: Operation | null, keys: readonly string[] = [], until?: number): void {
    this.#divergence.withhold(operation, keys, until);
    if (keys.length === 0 && touchesKeys(operation)) this.#keys.unseen();
  }

  async #endFor(change: string, { pair }: Begun): Promise<void> {
    this.#options.tally.note(`${change}: the shadow begins anew`);
    this.#begun = null;
    // Some servers have rules in memory alone, and so lose them.
    if (!pair.shadow.isOurs) this.#divergence.withhold(operationNamed('putRules'));
    await pair.shadow.close();
  }
}
