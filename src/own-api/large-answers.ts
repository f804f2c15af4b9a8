import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { LongPolls } from '../core/long-polls.js';
import { whenAnswerIsOver } from '../northbound/answer-over.js';
import { OwnError } from './errors.js';

/** Large answers of one credential that are made, or made and not taken yet. */
const MOST_OF_ONE = 8;

/**
 * Milliseconds that a call waits for its turn, in which a caller takes something of his answer, and seconds after which
 * to ask again.
 */
const LONGEST_WAIT = 30_000;
const PATIENCE = 60_000;
const ASK_AGAIN = 5;

interface Taken {
  count: number;
  /** The callbacks of calls that wait for a place, in order. */
  readonly waiting: Set<() => void>;
}

/** The place of one call among the large answers of its credential. */
export interface AnswerPlace {
  /** Resolves once the call has it, also where it had it before. Rejects with `tooManyPolls`. */
  take(): Promise<void>;
  /** Frees the place once the answer is over; ends the connection of a caller who does not read it. */
  isAnswered(response: ServerResponse): void;
  /** Has the place free again where no answer comes. */
  giveBack(): void;
}

/**
 * Limits the large answers of each credential that are made at a time, because slow readers would otherwise exhaust the
 * memory.
 */
export class LargeAnswers {
  readonly #polls: LongPolls;
  readonly #byOwner = new Map<string, Taken>();

  constructor(polls: LongPolls) {
    this.#polls = polls;
  }

  /**
   * The place of a call on this connection. Waiting for it counts as a call that waits, unless the call counts already.
   */
  placeOf(owner: string, socket: Socket, isCounted: boolean): AnswerPlace {
    let isTaken = false;
    const giveBack = () => {
      if (isTaken) this.#giveBack(owner);
      isTaken = false;
    };
    return {
      take: async () => {
        if (!isTaken) await this.#take(owner, isCounted);
        isTaken = true;
        // Nobody hears of this refusal.
        if (socket.destroyed) throw new OwnError('tooManyPolls');
      },
      isAnswered: (response) => isTaken && whenTaken(response, socket, giveBack),
      giveBack,
    };
  }

  async #take(owner: string, isCounted: boolean): Promise<void> {
    const taken = this.#byOwner.get(owner) ?? { count: 0, waiting: new Set() };
    this.#byOwner.set(owner, taken);
    if (taken.count < MOST_OF_ONE) taken.count += 1;
    else await this.#wait(owner, taken, isCounted);
  }

  async #wait(owner: string, { waiting }: Taken, isCounted: boolean): Promise<void> {
    const end = isCounted ? () => undefined : this.#polls.begin(owner);
    if (end === null) throw tooMany();
    try {
      await new Promise<void>((resolve, reject) => {
        const goOn = () => {
          clearTimeout(timer);
          resolve();
        };
        // An answer may stand behind one on the same connection that waits for the place which it has itself.
        const timer = setTimeout(() => {
          waiting.delete(goOn);
          reject(tooMany());
        }, LONGEST_WAIT).unref();
        waiting.add(goOn);
      });
    } finally {
      end();
    }
  }

  /** Passes the place to the next waiting call. */
  #giveBack(owner: string): void {
    const taken = this.#byOwner.get(owner);
    if (taken === undefined) return;
    const [next] = taken.waiting;
    if (next !== undefined) {
      taken.waiting.delete(next);
      next();
      return;
    }
    taken.count -= 1;
    if (taken.count === 0) this.#byOwner.delete(owner);
  }
}

const tooMany = () => new OwnError('tooManyPolls', '', ASK_AGAIN);

function whenTaken(response: ServerResponse, socket: Socket, over: () => void): void {
  let takenBefore = -1;
  const look = setInterval(() => {
    const taken = socket.bytesWritten - socket.writableLength;
    if (socket.writableLength > 0 && taken === takenBefore) socket.destroy();
    takenBefore = taken;
  }, PATIENCE / 2).unref();
  whenAnswerIsOver(response, socket, () => {
    clearInterval(look);
    over();
  });
}
