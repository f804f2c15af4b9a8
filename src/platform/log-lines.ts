import { setTimeout as pause } from 'node:timers/promises';
import { failureCode, failureWords } from './failure-words.js';

/** Writes the first of the bytes, and resolves to how many. Rejects with the system's error; EAGAIN: try later. */
export type TakeBytes = (bytes: Buffer) => Promise<number>;

export interface LogLinesOptions {
  readonly take: TakeBytes;
  /** Returns the text for lost lines, written once lines can be written again; empty for no text. */
  readonly notice: (lost: number, reason: string) => string;
  /** The most bytes that may wait; by default 16 MiB. */
  readonly longestBacklog?: number;
  /** Waits this many milliseconds, without keeping the process alive. */
  readonly wait?: (milliseconds: number) => Promise<unknown>;
}

/**
 * Lines on their way to a file, a pipe or a terminal. Writing one never waits and never fails. While the reader is
 * slow, lines wait; beyond the backlog, and at any failure, they are lost and counted. Only whole lines are lost: the
 * rest of a partly written one goes out first.
 */
export type LogLines = ReturnType<typeof createLogLines>;

const LONGEST_BACKLOG = 16 * 1024 * 1024;
/** In bytes; no more than what the readers of pipes take at once. */
const LONGEST_WRITE = 16 * 1024;
/** Milliseconds. A reader that takes nothing is tried again after growing pauses; after a failure the pause is long. */
const FIRST_PAUSE = 2;
const LONGEST_PAUSE = 128;
const PAUSE_AFTER_FAILURE = 1_000;
/** Milliseconds, for a flush. */
const FLUSH_CHECK = 20;
const FLUSH_STANDSTILL = 1_000;
const LONGEST_FLUSH = 5_000;

const TOO_SLOW = 'whatever reads the log was too slow';

/** Lost lines, at their place among those that wait. */
interface Gap {
  lost: number;
  reason: string;
}

/** Lines that are being written. */
interface Batch {
  readonly bytes: Buffer;
  /** The end of each line, and the number of lost lines that it reports: 0 for an ordinary line. */
  readonly lines: readonly { readonly end: number; readonly tells: number }[];
  /** True once part of the first line has been written. */
  readonly isBegun: boolean;
  /** The number of bytes that have been written. */
  done: number;
}

export function createLogLines({
  take,
  notice,
  longestBacklog = LONGEST_BACKLOG,
  wait = (milliseconds) => pause(milliseconds, undefined, { ref: false }),
}: LogLinesOptions) {
  let waiting: (Buffer | Gap)[] = [];
  let backlog = 0;
  let batch: Batch | null = null;
  let isRunning = false;
  /** True after the backlog was full: nothing is added until it is empty, so that one gap is reported once. */
  let isFull = false;
  let lost = 0;
  let written = 0;
  let wake = () => {};

  function loseOne(): void {
    lost += 1;
    const last = waiting.at(-1);
    if (last === undefined || Buffer.isBuffer(last)) waiting.push({ lost: 1, reason: TOO_SLOW });
    else last.lost += 1;
  }

  function nextBatch(): Batch | null {
    const parts: Buffer[] = [];
    const lines: { end: number; tells: number }[] = [];
    let end = 0;
    let count = 0;
    for (const next of waiting) {
      const tells = Buffer.isBuffer(next) ? 0 : next.lost;
      const part = Buffer.isBuffer(next) ? next : Buffer.from(notice(next.lost, next.reason));
      if (end > 0 && end + part.length > LONGEST_WRITE) break;
      count += 1;
      if (tells === 0) backlog -= part.length;
      if (part.length === 0) continue;
      end += part.length;
      parts.push(part);
      lines.push({ end, tells });
    }
    waiting.splice(0, count);
    if (waiting.length === 0) isFull = false;
    return parts.length === 0 ? null : { bytes: Buffer.concat(parts, end), lines, isBegun: false, done: 0 };
  }

  function advance(present: Batch, bytes: number): void {
    written += bytes;
    present.done += bytes;
    if (present.done >= present.bytes.length) batch = null;
  }

  /** Drops all waiting lines, and those of the batch that have not begun. */
  function loseAll({ bytes, lines, isBegun, done }: Batch, error: unknown): void {
    const at = lines.findIndex(({ end }) => end > done);
    const isHalf = done > (lines[at - 1]?.end ?? 0) || (at === 0 && isBegun);
    const unbegun = lines.slice(isHalf ? at + 1 : at).map(({ tells }) => tells);
    const known = [...unbegun, ...waiting.map((each) => (Buffer.isBuffer(each) ? 0 : each.lost))];
    const now = known.filter((tells) => tells === 0).length;
    const all = known.reduce((sum, tells) => sum + tells, now);
    lost += now;
    waiting = all === 0 ? [] : [{ lost: all, reason: failureWords(error) }];
    backlog = 0;
    const rest = bytes.subarray(done, lines[at]?.end);
    batch = isHalf ? { bytes: rest, lines: [{ end: rest.length, tells: 0 }], isBegun: true, done: 0 } : null;
  }

  const sleep = (milliseconds: number) =>
    Promise.race([
      wait(milliseconds),
      new Promise<void>((resolve) => {
        wake = resolve;
      }),
    ]);

  /** Writes until no line waits and no loss is unreported. Never rejects. */
  async function run(): Promise<void> {
    isRunning = true;
    let idle = FIRST_PAUSE;
    while (true) {
      batch ??= nextBatch();
      if (batch === null) break;
      const present: Batch = batch;
      try {
        const bytes = await take(present.done === 0 ? present.bytes : present.bytes.subarray(present.done));
        if (bytes > 0) {
          advance(present, bytes);
          idle = FIRST_PAUSE;
          continue;
        }
      } catch (error) {
        if (!isForLater(error)) {
          loseAll(present, error);
          await sleep(PAUSE_AFTER_FAILURE);
          continue;
        }
      }
      await sleep(idle);
      idle = Math.min(2 * idle, LONGEST_PAUSE);
    }
    isRunning = false;
  }

  return {
    /** Writes one line, or several that belong together, including the line break. */
    write(line: string): void {
      const bytes = Buffer.from(line);
      isFull ||= backlog + bytes.length > longestBacklog;
      if (isFull) {
        loseOne();
        return;
      }
      waiting.push(bytes);
      backlog += bytes.length;
      if (!isRunning) void run();
    },
    /** Returns the number of lines lost since the start. */
    lost: (): number => lost,
    /**
     * Resolves when all lines have been written or lost, or when nothing has been written for a second; after 5 seconds
     * in any case.
     */
    async flush(): Promise<void> {
      wake();
      await pause(0);
      let last = -1;
      let still = 0;
      for (let passed = 0; passed < LONGEST_FLUSH && still < FLUSH_STANDSTILL; passed += FLUSH_CHECK) {
        if (batch === null && !waiting.some(Buffer.isBuffer)) return;
        still = written === last ? still + FLUSH_CHECK : 0;
        last = written;
        await pause(FLUSH_CHECK);
      }
    },
  };
}

/** Tells whether to try later: the reader is busy, or a signal interrupted the write. */
function isForLater(error: unknown): boolean {
  return ['EAGAIN', 'EBUSY', 'EINTR'].includes(failureCode(error) ?? '');
}
