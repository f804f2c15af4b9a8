import { type Answer, isSuccess, NoAnswer } from '../client/call.js';
import { messageOf } from '../core/errors.js';
import { showsNamedToken } from '../core/named-tokens.js';
import { keyIn, type MatchedRequest } from '../replay/format/effects.js';
import { isBelow } from '../replay/record/describe.js';
import type { Operation } from '../wire/operations.js';
import { askShadow, type NotCompared } from './ask-shadow.js';
import { type Divergence, RESYNCED, touchesKeys } from './divergence.js';
import type { Judge, ShadowDifference } from './judge.js';
import type { KeySync } from './key-sync.js';
import { compareLists } from './large-list.js';
import { answerOf, type Pair } from './pair.js';
import type { SecondReads } from './second-reads.js';
import { leftOut, type Outcome } from './tally.js';
import { keysWritten, LARGE, type Passed } from './traffic.js';
import { statusIn, type UpdateWatch } from './update-watch.js';

/** `changed`: one of the servers is another now. */
type Compared = Outcome | NotCompared | { readonly kind: 'changed'; readonly change: string };

export interface ComparisonOptions {
  readonly pair: Pair;
  readonly judge: Judge;
  readonly watch: UpdateWatch;
  readonly divergence: Divergence;
  readonly keys: KeySync;
  readonly secondReads: SecondReads;
  readonly note: (sentence: string) => void;
}

/** Asks the shadow what clients have asked the target, and holds the answers together where they can be. */
export class Comparison {
  readonly #options: ComparisonOptions;

  constructor(options: ComparisonOptions) {
    this.#options = options;
  }

  /** Rejects where the shadow cannot be asked. */
  async compare(passed: Passed, matched: MatchedRequest | null, isWrite: boolean): Promise<Compared> {
    const why = whyNotAsked(passed, this.#options.pair, matched?.operation ?? null);
    if (why !== null) return { kind: 'withheld', why };
    if (matched === null) return this.#compareOther(passed);
    return isWrite ? this.#compareWrite(passed, matched) : this.#compareRead(passed, matched);
  }

  /** A preflight, or a read of nothing that the API has. */
  async #compareOther(passed: Passed): Promise<Compared> {
    const shadow = await askShadow(passed, this.#options.pair, null);
    if (shadow !== null && 'why' in shadow) return shadow;
    return compared(this.#differences(passed, null, shadow));
  }

  async #compareRead(passed: Passed, matched: MatchedRequest): Promise<Compared> {
    const { pair, watch, divergence, keys, secondReads } = this.#options;
    const { operation } = matched;
    const isUnseen = keys.isUncertain && touchesKeys(operation);
    const unclear = isUnseen
      ? 'a write passed unseen, and keys were not read since'
      : divergence.whyUnclear(passed, matched);
    // A status also tells of an update.
    if (unclear !== null && operation.name !== 'getStatus') return leftOut(unclear);
    // A list of 17 MB may come as one of less than 1.
    if (operation.name === 'listUsers' && answerOf(passed).body.length > LARGE) return this.#compareLists(passed);
    const shadow = await askShadow(passed, pair, matched);
    if (shadow !== null && 'why' in shadow) return shadow;
    if (operation.name === 'getStatus') {
      const told = { target: statusIn(answerOf(passed)), shadow: statusIn(shadow) };
      const change = watch.changeIn(told, passed.startedAt);
      if (change !== null) return { kind: 'changed', change };
      if (unclear !== null) return leftOut(unclear);
    }
    const again = await secondReads.of(passed);
    const differences = this.#differences(passed, operation, shadow, again);
    if (differences.length > 0 && divergence.wasResynced(keyIn(matched), passed)) return leftOut(RESYNCED);
    if (differences.some(({ because }) => because === null)) await this.#resyncAfter(passed, matched, differences);
    return compared(differences);
  }

  async #compareLists(passed: Passed): Promise<Compared> {
    const { pair, judge, divergence, keys } = this.#options;
    const lists = await compareLists(passed, pair, judge, divergence.unclearKeys(passed));
    if ('why' in lists) return lists;
    await keys.makeEqual(pair, lists.differing);
    return compared(lists.differences);
  }

  async #compareWrite(passed: Passed, matched: MatchedRequest): Promise<Compared> {
    const { pair, divergence } = this.#options;
    const { operation } = matched;
    const shadow = await askShadow(passed, pair, matched);
    if (shadow !== null && 'why' in shadow) return shadow;
    const contest = contestOf(passed, operation);
    if (contest === 'certain') return this.#leaveContested(passed, operation);
    const differences = this.#differences(passed, operation, shadow);
    if (differences.length > 0) {
      if (contest === 'perhaps') return this.#leaveContested(passed, operation);
      if (divergence.wasResynced(keyIn(matched), passed)) return leftOut(RESYNCED);
      await this.#resyncAfter(passed, matched, differences);
    }
    const isDone = shadow !== null && isSuccess(shadow.status);
    // What follows from it shows in every read.
    if (isSuccess(passed.status) !== isDone) divergence.withhold(operation);
    else if (isDone) divergence.done(operation, passed);
    return compared(differences);
  }

  #differences(
    passed: Passed,
    operation: Operation | null,
    shadow: Answer | null,
    again: readonly [Answer, Answer] | null = null,
  ): readonly ShadowDifference[] {
    const { pair, judge, divergence } = this.#options;
    const path = passed.path.slice(pair.target.found.target.apiRoot.length);
    const unclear = divergence.unclearKeys(passed);
    return judge.differences({
      operation,
      method: passed.method,
      path,
      target: answerOf(passed),
      again,
      shadow,
      unclear,
    });
  }

  /** Nobody knows which of two writes came last: the keys are held together instead. */
  async #leaveContested(passed: Passed, operation: Operation): Promise<Compared> {
    const { pair, divergence, keys } = this.#options;
    const written = keysWritten(passed);
    if (touchesKeys(operation)) await keys.equalize(written, pair);
    // Also where both say the same: they say it of now, and what is still to be taken passed before.
    for (const key of written) divergence.resynced(key);
    divergence.withhold(operation);
    return leftOut('two writes of the same overlapped');
  }

  /** After a difference in keys, the shadow gets what the target has, so that it counts once. */
  async #resyncAfter(passed: Passed, matched: MatchedRequest, differences: readonly ShadowDifference[]): Promise<void> {
    const { pair, keys, note } = this.#options;
    const key = keyIn(matched);
    const shown = differences.flatMap(({ where }) => /\/\[([^/]*)\]/.exec(where)?.[1] ?? []).map(unpointed);
    const named = [...shown, ...keysWritten(passed), ...(key === null ? [] : [key])];
    // A configuration differs in much else, too.
    if (!touchesKeys(matched.operation) || (named.length === 0 && matched.operation.name === 'getConfig')) return;
    try {
      await keys.equalize(named, pair);
    } catch (error) {
      keys.request();
      note(`a key that differs could not be made equal: ${causeOf(error)}`);
    }
  }
}

function compared(differences: readonly ShadowDifference[]): Outcome {
  return { kind: 'compared', differences };
}

/** Tells whether another write of the same was under way; `perhaps` where one was of keys that nobody can name before its answer. */
function contestOf({ beside, ...passed }: Passed, operation: Operation): 'certain' | 'perhaps' | null {
  const { keys, subjects } = beside;
  const isSame =
    operation.effect.kind === 'destroys' && operation.subject !== 'keys' && subjects.includes(operation.subject);
  if (isSame || subjects.includes('configuration') || keysWritten(passed).some((key) => keys.includes(key)))
    return 'certain';
  return subjects.includes('keys') && touchesKeys(operation) ? 'perhaps' : null;
}

/** Returns why the shadow is not asked at all; null where it is. */
function whyNotAsked(passed: Passed, { target, shadow }: Pair, operation: Operation | null): string | null {
  const { path, status, method, requestHeaders } = passed;
  if (!isBelow(path, target.found.target.apiRoot)) return 'no request of the API';
  if (status === 401 || status === 403 || status === 429) return 'the target refused it';
  if (status === 304) return 'the client had the answer already';
  if (status >= 500) return 'the target failed';
  if (operation === null) return method === 'OPTIONS' || method === 'GET' ? null : 'no operation of the API';
  if (operation.name === 'listUsers' && showsNamedToken(requestHeaders.get('authorization')))
    return 'a named token, which may see some of the keys alone';
  return shadow.withholds(operation);
}

function unpointed(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Returns what went wrong, without what a server put into its words. */
export function causeOf(error: unknown): string {
  return error instanceof NoAnswer ? error.kind : messageOf(error).slice(0, 80);
}
