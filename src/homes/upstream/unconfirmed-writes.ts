import type { ClockPort, LogPort } from '../../core/ports.js';
import { SETTLED_AFTER } from '../../wire/traits/storing.js';
import { fateOf, followed, mayLackName, nameFateOf, type Unsettled } from './fate.js';
import { type KeyState, sameState, type Tells } from './key-state.js';
import type { Witness } from './replica.js';
import { namedInLog } from './undone-report.js';
import type { Notes } from './write-journal.js';

/** A write that waits to be settled. */
export interface Waiting extends Unsettled {
  /** How often it has been made again. */
  readonly again: number;
  /** A process before acknowledged it, too long ago for whatever is seen now to be the server's doing. */
  readonly isOld: boolean;
  /** Acknowledged while the server was slow. */
  readonly isSlow: boolean;
  /** Seen long enough afterwards. It goes on waiting where the server would not start with it. */
  readonly isSettled: boolean;
  /** Seen so, its name apart, which only the configuration tells. */
  readonly isListed: boolean;
  /** The name of before that the configuration had instead. */
  readonly formerName?: string | null;
}

/** What was acknowledged and may still be lost (design: "When a write is settled"). */
export interface Settling extends Witness {
  watched(): ReadonlyMap<string, Waiting>;
  /** To be called for every acknowledged write. Resolves when a crash of this process does not take it back. */
  acknowledged(writes: readonly Acknowledged[]): Promise<void>;
  /** It is undone, and stays so. */
  leave(accessKey: string): void;
  /** When a list must have been sent, so that what waits longest is settled; monotonic, ms. */
  neededAt(): number | null;
  /** The server starts with every write up to that moment, which a list has shown once it had read them back. */
  stored(answeredUntil: number): void;
  /** A configuration as a whole took the place of everything. */
  overruled(): void;
}

export interface Acknowledged {
  readonly accessKey: string;
  readonly before: KeyState;
  readonly after: KeyState;
  readonly answeredAt: number;
}

export interface SettlingOptions {
  readonly notes: Notes;
  readonly clock: ClockPort;
  readonly log: LogPort;
  readonly tells: Tells;
  /** Whether names are read from the configuration. */
  readonly readsNames: () => boolean;
  /** Whether a server of the line starts with the keys that its API made. */
  readonly startsWithKeys: () => boolean;
  /** Whether the server is slow, so that it may lose what it acknowledges. */
  readonly isSlow: () => boolean;
  /** Called for a key that is to be written again; soon, and again while it stays so. */
  readonly onUndone: (accessKey: string) => void;
}

/** So often a write is made again before it is taken that somebody wants it undone. */
const MOST_AGAIN = 8;
/** Writes of a process before that are older than this are left as they are found, ms. */
const MOST_ABSENCE = 10 * 60 * 1000;

const UNSEEN = { isSettled: false, isListed: false };

export function createSettling(options: SettlingOptions): Settling {
  const { notes, clock, log, tells, readsNames, startsWithKeys, isSlow, onUndone } = options;
  /** In the order in which they were acknowledged. */
  const waiting = new Map<string, Waiting>();
  /** Found undone, and not made again yet. */
  const undone = new Set<string>();

  for (const { accessKey, at, ...noted } of notes.found) {
    const age = Math.max(0, clock.now() - at);
    const answeredAt = clock.monotonic() - age;
    waiting.set(accessKey, { ...noted, answeredAt, ...UNSEEN, again: 0, isOld: age > MOST_ABSENCE });
  }

  function drop(accessKey: string): void {
    waiting.delete(accessKey);
    undone.delete(accessKey);
    notes.drop([accessKey]);
  }

  function settle(accessKey: string, write: Waiting): void {
    undone.delete(accessKey);
    if (startsWithKeys()) drop(accessKey);
    else waiting.set(accessKey, { ...write, isSettled: true });
  }

  function overtaken(accessKey: string, write: Waiting): void {
    log.info({ key: namedInLog(accessKey, write) }, 'somebody else has changed a key that was just changed here');
    drop(accessKey);
  }

  function listed(accessKey: string, write: Waiting): void {
    undone.delete(accessKey);
    if (readsNames() && mayLackName(write)) waiting.set(accessKey, { ...write, isListed: true });
    else settle(accessKey, write);
  }

  /** The configuration shows its name, or has no say in it. */
  function named(accessKey: string, { formerName: _, ...write }: Waiting): void {
    if (write.isListed) settle(accessKey, write);
    else waiting.set(accessKey, write);
  }

  function isUndone(accessKey: string, write: Waiting): boolean {
    if (write.again >= MOST_AGAIN) {
      log.error(
        { key: namedInLog(accessKey, write), times: write.again },
        'a change is undone again and again, and is given up',
      );
      drop(accessKey);
      return false;
    }
    waiting.set(accessKey, { ...write, isListed: false });
    undone.add(accessKey);
    onUndone(accessKey);
    return true;
  }

  /** Whether a write is one that waited already. */
  function isAgain(earlier: Waiting | undefined, { before, after }: Pick<Acknowledged, 'before' | 'after'>): boolean {
    return earlier !== undefined && sameState(earlier.after, after) && !sameState(before, after);
  }

  return {
    watched: () => waiting,
    see(accessKey, state, sentAt) {
      const write = waiting.get(accessKey);
      if (write === undefined) return true;
      // Only now it is known of which line the server is.
      if (write.isOld && startsWithKeys()) {
        drop(accessKey);
        return true;
      }
      const fate = fateOf(write, state, sentAt, tells);
      const lacksName = readsNames() && write.formerName !== undefined && fate !== 'overtaken';
      switch (lacksName ? 'undone' : fate) {
        case 'undone':
          return !isUndone(accessKey, write);
        case 'settled':
          listed(accessKey, write);
          return true;
        case 'overtaken':
          overtaken(accessKey, write);
          return true;
        case 'waits':
          undone.delete(accessKey);
          return true;
      }
    },
    seeName(accessKey, name, sentAt) {
      const write = waiting.get(accessKey);
      if (write === undefined) return name ?? null;
      const wanted = write.after?.name ?? null;
      switch (nameFateOf(write, name, sentAt)) {
        case 'undone': {
          const formerName = name ?? null;
          return isUndone(accessKey, { ...write, formerName }) ? wanted : formerName;
        }
        case 'settled':
          named(accessKey, write);
          return name ?? null;
        case 'overtaken':
          overtaken(accessKey, write);
          return name ?? null;
        case 'waits':
          return wanted;
      }
    },
    acknowledged(writes) {
      const kept = writes.flatMap(({ accessKey, ...write }) => {
        const earlier = waiting.get(accessKey);
        const next = followed(earlier, write);
        const again = isAgain(earlier, write) ? (earlier?.again ?? 0) + 1 : 0;
        undone.delete(accessKey);
        waiting.delete(accessKey);
        if (next === null) {
          notes.drop([accessKey]);
          return [];
        }
        const noted = { after: next.after, formers: next.formers, isSlow: isSlow() };
        waiting.set(accessKey, { ...noted, answeredAt: next.answeredAt, ...UNSEEN, again, isOld: false });
        return [{ accessKey, ...noted, at: clock.now() }];
      });
      return kept.length === 0 ? Promise.resolve() : notes.keep(kept);
    },
    leave: drop,
    neededAt() {
      if (undone.size > 0) return clock.monotonic();
      for (const { isSettled, answeredAt } of waiting.values()) if (!isSettled) return answeredAt + SETTLED_AFTER;
      return null;
    },
    stored(answeredUntil) {
      for (const [accessKey, write] of waiting) if (write.answeredAt <= answeredUntil) drop(accessKey);
    },
    overruled() {
      const all = [...waiting.keys()];
      waiting.clear();
      undone.clear();
      notes.drop(all);
    },
  };
}
