import { DomainError } from '../../core/errors.js';
import type { AccessKey } from '../../core/model.js';
import type { ClockPort } from '../../core/ports.js';
import { createLane } from './lane.js';
import { LEAST_PATIENCE, type NotDone, type Patience, WRITE_PATIENCE, type Written } from './writes.js';

export interface SharedCreatesOptions {
  readonly write: (keys: readonly AccessKey[], patience: Patience) => Promise<WrittenCreates>;
  /** Returns the error for a write that did not happen, or may have. */
  readonly errorOf: (written: NotDone) => DomainError;
  readonly clock: Pick<ClockPort, 'monotonic'>;
}

export interface WrittenCreates {
  readonly written: Written;
  /** Resolves once a committed write is visible. */
  show(): Promise<void>;
}

/** The limits of one write, which keep short both its answer and the time for which it holds up others. */
const MOST_KEYS = 500;
const MOST_CHARACTERS = 256 * 1024;
/** The limits of all waiting creates, beyond which the next one is refused. */
const MOST_WAITING = 10_000;
const MOST_WAITING_CHARACTERS = 16 * 2 ** 20;
/** Milliseconds that must be left of a caller's time for its create to be sent. */
const LEAST_LEFT = 2_000;
/** Cardinality, data exception, constraint violation, program limit: what one key among others may cause. */
const OF_ONE_KEY = /^(?:21|22|23|54)/;
const TOO_LATE = 'it has waited for others for too long';
const TOO_MANY = 'too many others wait for the database';

interface Waiting {
  readonly key: AccessKey;
  readonly since: number;
  /** True while it is being written. */
  isSent: boolean;
  /** Ends the wait once its caller's time is over. */
  readonly timer: NodeJS.Timeout;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Makes creates that wait for another one share the next write (design: "One state for several gateways"). The created
 * key is visible once the promise resolves; it rejects as its own write would have.
 */
export function createSharedCreates({
  write,
  errorOf,
  clock,
}: SharedCreatesOptions): (key: AccessKey) => Promise<void> {
  const queued = { keys: 0, characters: 0 };
  const lane = createLane(takeQueued, carryOut);

  function takeQueued(waiting: Waiting[]): readonly Waiting[] {
    const some = takeSome(waiting);
    queued.keys -= some.length;
    for (const { key } of some) queued.characters -= charactersOf(key);
    return some;
  }

  const leftOf = ({ since }: Waiting): number => since + WRITE_PATIENCE - clock.monotonic();
  const tooLate = () => errorOf({ kind: 'nothing', reason: TOO_LATE, sqlState: null });
  const isLate = (one: Waiting): boolean => leftOf(one) <= LEAST_LEFT;

  async function carryOut(some: readonly Waiting[]): Promise<void> {
    for (const { reject } of some.filter(isLate)) reject(tooLate());
    const sent = some.filter((one) => !isLate(one));
    if (sent.length === 0) return;
    const rejectAll = (error: unknown) => {
      for (const { reject } of sent) reject(error);
    };
    for (const one of sent) one.isSent = true;
    const resolveAll = () => {
      for (const { resolve } of sent) resolve();
    };
    try {
      const until = clock.monotonic() + Math.max(LEAST_PATIENCE, Math.min(...sent.map(leftOf)));
      const keys = sent.map(({ key }) => key);
      const { written, show } = await write(keys, { until });
      if (written.kind === 'done') {
        for (const { timer } of sent) clearTimeout(timer);
        // The next write need not wait until this one is visible.
        show().then(resolveAll, rejectAll);
        return;
      }
      if (written.kind === 'nothing' && sent.length > 1) {
        for (const one of sent) one.isSent = false;
        if (OF_ONE_KEY.test(written.sqlState ?? '')) return await carryOutHalves(sent);
        // It was given up because of those whose time is over.
        if (sent.some(isLate)) return await carryOut(sent);
      }
      rejectAll(errorOf(written));
    } catch (error) {
      rejectAll(error);
    }
  }

  /** Halves the creates, so that one key that the database refuses does not fail the others. */
  async function carryOutHalves(some: readonly Waiting[]): Promise<void> {
    const middle = Math.ceil(some.length / 2);
    await carryOut(some.slice(0, middle));
    await carryOut(some.slice(middle));
  }

  return (key) =>
    new Promise((resolve, reject) => {
      const characters = queued.characters + charactersOf(key);
      if (queued.keys === MOST_WAITING || (queued.keys > 0 && characters > MOST_WAITING_CHARACTERS)) {
        reject(errorOf({ kind: 'nothing', reason: TOO_MANY, sqlState: null }));
        return;
      }
      // Also while it is behind slow writes, and while its own takes longer than its wait.
      const endWait = () => one.reject(one.isSent ? new DomainError('outcomeUnknown') : tooLate());
      const timer = setTimeout(endWait, WRITE_PATIENCE);
      const one: Waiting = {
        ...{ key, since: clock.monotonic(), isSent: false, timer, resolve },
        reject(error) {
          clearTimeout(timer);
          reject(error);
        },
      };
      queued.keys += 1;
      queued.characters = characters;
      lane.add(one);
    });
}

const charactersOf = ({ accessKey, name }: AccessKey): number => accessKey.length + (name?.length ?? 0);

/** Takes the next creates, at least one, and never two of one key. */
function takeSome(waiting: Waiting[]): readonly Waiting[] {
  const names = new Set<string>();
  let characters = 0;
  for (const { key } of waiting.slice(0, MOST_KEYS)) {
    characters += charactersOf(key);
    if (names.size > 0 && (characters > MOST_CHARACTERS || names.has(key.accessKey))) break;
    names.add(key.accessKey);
  }
  return waiting.splice(0, names.size);
}
