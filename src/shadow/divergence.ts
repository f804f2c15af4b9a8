import { keyIn, type MatchedRequest } from '../replay/format/effects.js';
import type { Subject } from '../wire/operations/operation.js';
import type { Operation, OperationName } from '../wire/operations.js';
import { machineTime, type Passed } from './traffic.js';

/** The subjects that show what a write of one changes, keys aside. */
const SHOWN_WITH: Readonly<Partial<Record<Subject, readonly Subject[]>>> = {
  configuration: ['configuration', 'rules', 'dns', 'other'],
  rules: ['rules', 'configuration'],
  dns: ['dns', 'other', 'configuration'],
  other: ['other', 'dns', 'configuration'],
};

const MOST_RESYNCED = 100_000;

/** Knows where the shadow's state is not the target's, or was not yet when a request began. */
export class Divergence {
  #keys = new Set<string>();
  /** Replacements at the target alone, by operation; a write that began by `until` does not undo one. */
  readonly #replaced = new Map<OperationName, { readonly subject: Subject; readonly until: number }>();
  /** The times at which keys were made equal, by the machine's clock: answers that were begun before say nothing of them. */
  readonly #resynced = new Map<string, number>();
  #lastResync = 0;

  /** Takes a change that the target has accepted and the shadow was not told. One that comes before its turn says until when it was made. */
  withhold(operation: Operation | null, keys: readonly string[] = [], until = Number.NEGATIVE_INFINITY): void {
    for (const key of keys) this.#keys.add(key);
    // What else is written is shown by no read, and nothing is kept of it.
    if (operation?.effect.kind !== 'destroys' || operation.subject === 'keys') return;
    const { name, subject } = operation;
    this.#replaced.set(name, { subject, until: Math.max(until, this.#replaced.get(name)?.until ?? until) });
  }

  /** Takes a write that both have done: what it replaces is the same at both again. An audit list has what was added to it before, too. */
  done({ name }: Operation, { startedAt }: Passed): void {
    const { until = startedAt } = this.#replaced.get(name) ?? {};
    if (name !== 'addAudit' && until < startedAt) this.#replaced.delete(name);
  }

  /** Takes the keys that differ now; all others are equal. */
  replaceKeys(keys: Iterable<string>): void {
    this.#keys = new Set(keys);
  }

  /** Takes a key that was made equal, or found so, while changes of it may still be on their way here. */
  resynced(key: string): void {
    this.#lastResync = machineTime();
    this.#resynced.delete(key);
    this.#resynced.set(key, this.#lastResync);
    for (const oldest of this.#resynced.keys()) {
      if (this.#resynced.size <= MOST_RESYNCED) break;
      this.#resynced.delete(oldest);
    }
  }

  wasResynced(key: string | null, { startedAt }: Passed): boolean {
    return key !== null && (this.#resynced.get(key) ?? 0) > startedAt;
  }

  /** The shadow begins with the target's state. */
  clear(): void {
    this.#keys = new Set();
    this.#replaced.clear();
  }

  /** Returns the keys of which the two answers to a request may rightly say different things. */
  unclearKeys({ beside, startedAt }: Passed): ReadonlySet<string> {
    const since = this.#lastResync <= startedAt ? [] : [...this.#resynced].filter(([, at]) => at > startedAt);
    return new Set([...this.#keys, ...beside.keys, ...since.map(([key]) => key)]);
  }

  /** Returns why the two answers to a read may rightly differ; null where they may not. */
  whyUnclear(passed: Passed, matched: MatchedRequest): string | null {
    const { beside } = passed;
    const { operation } = matched;
    const key = keyIn(matched);
    const subject = shownSubject(operation);
    const isTouched =
      beside.subjects.some((each) => each === 'configuration' || each === subject || subject === 'configuration') ||
      (key !== null && beside.keys.includes(key));
    if (isTouched) return 'a write touched it between the two answers';
    if (this.#isReplaced(isLink(operation) ? 'dns' : subject))
      return 'it has changed since, which the shadow was not told';
    if (key === null) return null;
    if (this.#keys.has(key)) return 'the key has changed since, which the shadow was not told';
    return this.wasResynced(key, passed) ? RESYNCED : null;
  }

  #isReplaced(shown: Subject): boolean {
    return [...this.#replaced.values()].some(({ subject }) => (SHOWN_WITH[subject] ?? [subject]).includes(shown));
  }
}

export const RESYNCED = 'the key was made equal meanwhile';

/** The status counts keys. */
function shownSubject({ name, subject }: Operation): Subject {
  return name === 'getStatus' ? 'keys' : subject;
}

/** Links say where names are asked for, which is DNS settings. */
function isLink({ name }: Operation): boolean {
  return name === 'subscribe' || name === 'getShare';
}

/** Tells whether an operation shows or changes keys; a request that is none may do anything. */
export function touchesKeys(operation: Operation | null): boolean {
  return operation === null || ['keys', 'configuration'].includes(shownSubject(operation));
}
