import type { KeptRecords } from './kept-records.js';
import type { ClockPort } from './ports.js';

/** Counts who asked for what: nothing of keys, and nothing of where anybody calls from. */
export interface Use {
  /** The name of a token; `static`, `session` or `open` for a mount's own access; `others` for all beyond the bound. */
  readonly by: string;
  /**
   * The kind of program that called, such as `curl/8.5.0`; empty where it does not say, and for who shows no
   * credential.
   */
  readonly program: string;
  readonly revision: string;
  readonly operation: string;
}

/** The uses of one day that are alike. */
export interface DayOfUse extends Use {
  /** In UTC, such as `2026-11-23`. */
  readonly day: string;
  readonly count: number;
  /** Milliseconds since the epoch. */
  readonly lastSeen: number;
}

/** The name of a caller who shows no credential. */
export const OPEN = 'open';
const OTHERS = 'others';
/** Rows of a day that tell who; what comes beyond is summed by revision, which leaves a day with at most 1,000. */
const MOST_ROWS = 980;
/** Programs of one caller that a day tells apart, and rows that tell of him: he says of himself what he likes. */
const MOST_PROGRAMS_OF_ONE = 50;
const MOST_ROWS_OF_ONE = 200;
const OTHER = 'other';
export const MOST_DAYS = 90;
const DAY = 86_400_000;
/** Recent programs that one route recognizes without another look-up. */
const MOST_PROGRAMS = 200;
/** Tries to write a day that other gateways write, too. */
const TRIES = 5;
const MOST_PROGRAM = 64;
/** Characters of a user agent that is remembered: a longer one is looked at each time. */
const MOST_SAID = 512;

/** A row that is counted up: by the millisecond of the last use. */
interface Counted {
  readonly use: Use;
  count: number;
  lastSeen: number;
  /** Since the start. */
  total: number;
}

/** Counts one use; `caller` is null for who shows no credential. */
export type CountUse = (caller: { readonly name: string } | null, userAgent: string | undefined) => void;

export interface OperationUseOptions {
  readonly records: KeptRecords;
  readonly clock: ClockPort;
}

/** Counts who uses what, by day. Counting is an increment; what was counted is written in batches. */
export class OperationUse {
  readonly #records: KeptRecords;
  readonly #clock: ClockPort;
  /** By the text of the use. */
  #rows = new Map<string, Counted>();
  /** The programs and the number of rows of each caller. */
  #callers = new Map<string, { readonly programs: Set<string>; rows: number }>();
  /** True where something has no row of its own for want of room. */
  #isFull = false;
  #day = '';
  #writing: Promise<void> = Promise.resolve();

  constructor({ records, clock }: OperationUseOptions) {
    this.#records = records;
    this.#clock = clock;
  }

  /** Gives what counts uses of one operation of one revision. */
  counting(revision: string, operation: string): CountUse {
    const clock = this.#clock;
    const byCaller = new Map<string, Map<string, Counted>>();
    let rows = this.#rows;
    return (caller, userAgent = '') => {
      if (rows !== this.#rows) {
        rows = this.#rows;
        byCaller.clear();
      }
      const by = caller?.name ?? OPEN;
      // A caller without a credential may say anything of himself, as often as he likes.
      const said = caller === null ? '' : userAgent;
      let programs = byCaller.get(by);
      if (programs === undefined || programs.size > MOST_PROGRAMS) {
        programs = new Map();
        byCaller.set(by, programs);
      }
      let row = programs.get(said);
      if (row === undefined) {
        row = this.#rowOf({ by, program: programOf(said), revision, operation });
        if (said.length <= MOST_SAID) programs.set(said, row);
      }
      row.count += 1;
      row.lastSeen = clock.now();
    };
  }

  /** Writes what was counted. A failure leaves it for the next time. */
  write(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#writeAll());
    return this.#writing;
  }

  /** Returns the uses of the last days, this one included, the newest day first and the most used first. */
  days(days: number): readonly DayOfUse[] {
    const from = dayOf(this.#clock.now() - (days - 1) * DAY);
    return [...this.#records.of('usage')]
      .filter(([day]) => day >= from)
      .toSorted(([a], [b]) => (a < b ? 1 : -1))
      .flatMap(([day, body]) => rowsIn(day, body).toSorted((a, b) => b.count - a.count));
  }

  /** Counts since the start of this process. */
  totals(): readonly (Use & { readonly count: number })[] {
    return [...this.#rows.values()].map(({ use, count, total }) => ({ ...use, count: total + count }));
  }

  #rowOf(use: Use): Counted {
    const name = nameOf(use);
    const found = this.#rows.get(name);
    if (found !== undefined) return found;
    const bounded = use.by === OTHERS ? use : this.#bounded(use);
    if (bounded !== use) {
      this.#isFull = true;
      return this.#rowOf(bounded);
    }
    const row = { use, count: 0, lastSeen: 0, total: 0 };
    this.#rows.set(name, row);
    return row;
  }

  /** The use as there is room for it: the same, or with others of its caller, or with those of all. */
  #bounded(use: Use): Use {
    const own = this.#callers.get(use.by) ?? { programs: new Set<string>(), rows: 0 };
    if (use.program !== OTHER) {
      if (!own.programs.has(use.program) && own.programs.size >= MOST_PROGRAMS_OF_ONE)
        return { ...use, program: OTHER };
      if (own.rows >= MOST_ROWS_OF_ONE) return { ...use, program: OTHER, operation: OTHERS };
    }
    if (this.#rows.size >= MOST_ROWS) return summed(use);
    own.programs.add(use.program);
    own.rows += 1;
    this.#callers.set(use.by, own);
    return use;
  }

  async #writeAll(): Promise<void> {
    const taken = new Map<string, DayOfUse[]>();
    for (const row of this.#rows.values()) {
      if (row.count === 0) continue;
      const day = dayOf(row.lastSeen);
      const uses = taken.get(day) ?? [];
      uses.push({ ...row.use, day, count: row.count, lastSeen: row.lastSeen });
      taken.set(day, uses);
      row.total += row.count;
      row.count = 0;
    }
    const today = dayOf(this.#clock.now());
    // Yesterday's callers leave room for today's.
    if (today !== this.#day && this.#isFull) {
      this.#rows = new Map();
      this.#callers = new Map();
      this.#isFull = false;
    }
    this.#day = today;
    for (const [day, uses] of taken) if (!(await this.#writeDay(day, uses))) this.#takeBack(uses);
    await this.#forget();
  }

  /** Adds to what other gateways of the state have written of the day. False where it could not be written. */
  async #writeDay(day: string, uses: readonly DayOfUse[]): Promise<boolean> {
    try {
      for (let tries = 0; tries < TRIES; tries += 1) {
        const expected = this.#records.of('usage').get(day) ?? null;
        const body = bodyOf(together([...(expected === null ? [] : rowsIn(day, expected)), ...uses]));
        if (await this.#records.change([{ kind: 'usage', id: day, body, expected }])) return true;
      }
    } catch {
      // The home says of itself that it takes nothing.
    }
    return false;
  }

  #takeBack(uses: readonly DayOfUse[]): void {
    for (const use of uses) {
      const row = this.#rowOf(use);
      row.count += use.count;
      row.total -= use.count;
      row.lastSeen = Math.max(row.lastSeen, use.lastSeen);
    }
  }

  async #forget(): Promise<void> {
    const first = dayOf(this.#clock.now() - (MOST_DAYS - 1) * DAY);
    const old = [...this.#records.of('usage').keys()].filter((day) => day < first);
    if (old.length === 0) return;
    await this.#records.change(old.map((id) => ({ kind: 'usage', id, body: null }))).catch(() => undefined);
  }
}

/** The first word of a user agent, with its version where one follows. */
export function programOf(userAgent: string): string {
  const [, name = '', version] = /^\s*([A-Za-z][\w.+-]*)(?:[/ ]v?(\d[\w.+-]*))?/.exec(userAgent) ?? [];
  return (version === undefined ? name : `${name}/${version}`).slice(0, MOST_PROGRAM);
}

const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

const nameOf = ({ by, program, revision, operation }: Use): string =>
  JSON.stringify([by, program, revision, operation]);

const summed = ({ revision }: Use): Use => ({ by: OTHERS, program: '', revision, operation: OTHERS });

/** Adds up what is alike, and by revision what is more than a day may hold: of that the least used. */
function together(uses: readonly DayOfUse[]): readonly DayOfUse[] {
  const alike = added(uses);
  if (alike.length <= MOST_ROWS) return alike;
  const most = alike.toSorted((a, b) => b.count - a.count);
  return added(most.map((use, place) => (place < MOST_ROWS ? use : { ...use, ...summed(use) })));
}

function added(uses: readonly DayOfUse[]): readonly DayOfUse[] {
  const sums = new Map<string, DayOfUse>();
  for (const use of uses) {
    const name = nameOf(use);
    const before = sums.get(name);
    const count = use.count + (before?.count ?? 0);
    sums.set(name, { ...use, count, lastSeen: Math.max(use.lastSeen, before?.lastSeen ?? 0) });
  }
  return [...sums.values()];
}

function bodyOf(uses: readonly DayOfUse[]): string {
  return JSON.stringify(
    uses.map(({ by, program, revision, operation, count, lastSeen }) => [
      by,
      program,
      revision,
      operation,
      count,
      lastSeen,
    ]),
  );
}

function rowsIn(day: string, body: string): readonly DayOfUse[] {
  const rows: unknown = JSON.parse(body);
  if (!Array.isArray(rows)) return [];
  return rows.map(([by, program, revision, operation, count, lastSeen]: readonly unknown[]) => ({
    ...{ by: String(by), program: String(program), revision: String(revision), operation: String(operation) },
    ...{ day, count: Number(count), lastSeen: Number(lastSeen) },
  }));
}
