import { readCsv } from '../../src/text/csv.js';
import { KEY_COLUMNS } from '../../src/text/key-columns.js';
import { isTooLongNote } from '../../src/text/notes.js';
import { type LimitProblem, type LimitReading, lacksUnit, readLimit } from '../../src/text/sizes.js';
import type { Whole } from '../../src/text/whole.js';
import type { Change } from '../api/jobs.js';
import type { User } from '../api/wire.js';
import { creationOf, updateOf } from './key-changes.js';

/** The effect of one line of a table. A member left out is not in the table, and stays as it is. */
export interface ImportLine {
  /** From 1, as an editor counts. */
  readonly line: number;
  /** Empty has one generated. */
  readonly key: string;
  readonly name?: string;
  readonly note?: string;
  readonly limit?: Whole | null;
  readonly effect: 'create' | 'change' | 'same' | 'bad';
  /** Why it is bad, else null. */
  readonly problem: ImportProblem | null;
  /** The key as the server has it, else null. */
  readonly now: User | null;
}

export type ImportProblem = LimitProblem | 'noUnit' | 'quote' | 'twice' | 'unaddressable' | 'longName';

type NoUnit = { readonly ok: false; readonly problem: 'noUnit' };

type Column = keyof typeof KEY_COLUMNS;
const COLUMNS: Readonly<Record<Column, readonly string[]>> = KEY_COLUMNS;
const NAMES = ['key', 'name', 'limit', 'note'] as const;
/** The column whose numbers are bytes, as in an export. */
const [IN_BYTES] = KEY_COLUMNS.limit;

const LONGEST_NAME = 10_000;

/**
 * Plans the changes of a table of keys. Its columns are key, label and limit, in this order or as its first line calls
 * them, and where notes are taken also note; others are left alone. A limit without a unit is bytes where its column is called so or there
 * are many, and an empty one is none.
 */
export function planImport(text: string, byKey: ReadonlyMap<string, User>, takesNotes: boolean): readonly ImportLine[] {
  const { records, brokenAt } = readCsv(text);
  const head = records[0]?.fields ?? [];
  const named = columnsOf(head);
  const places: NonNullable<typeof named> = named ?? { key: 0, name: 1, limit: 2 };
  const inBytes = head.some((title) => title.trim().toLowerCase() === IN_BYTES);
  const seen = new Set<string>();
  const plan = records.slice(named === null ? 0 : 1).map(({ line, fields }): ImportLine => {
    const cell = (column: Column) => {
      const place = places[column];
      return place === undefined ? undefined : fields[place];
    };
    const limit = cell('limit');
    const reading = limit === undefined ? null : readLimit(limit, 'B');
    const isBare = !inBytes && lacksUnit(limit ?? '');
    const read = readRow(
      cell('key') ?? '',
      { name: cell('name'), note: takesNotes ? cell('note') : undefined },
      isBare ? { ok: false, problem: 'noUnit' } : reading,
      seen,
      byKey,
    );
    if (read.key !== '') seen.add(read.key);
    return { line, ...read };
  });
  // First, where it is seen: nothing behind it is read.
  return brokenAt === null ? plan : [{ line: brokenAt, key: '', effect: 'bad', problem: 'quote', now: null }, ...plan];
}

function readRow(
  key: string,
  { name, note }: { readonly name: string | undefined; readonly note: string | undefined },
  reading: LimitReading | NoUnit | null,
  seen: ReadonlySet<string>,
  byKey: ReadonlyMap<string, User>,
): Omit<ImportLine, 'line'> {
  const now = byKey.get(key) ?? null;
  const wanted = {
    key,
    ...(name !== undefined && { name }),
    ...(note !== undefined && { note }),
    ...(reading?.ok === true ? { limit: reading.bytes } : {}),
    now,
  };
  const problem =
    reading?.ok === false
      ? reading.problem
      : seen.has(key)
        ? 'twice'
        : key === '.' || key === '..'
          ? 'unaddressable'
          : (name ?? '').length > LONGEST_NAME || isTooLongNote(note ?? '')
            ? 'longName'
            : null;
  const effect = now === null ? 'create' : updateOf(now, wanted) === null ? 'same' : 'change';
  return { ...wanted, problem, effect: problem === null ? effect : 'bad' };
}

/** The places of the columns, or null where the first line names none. */
function columnsOf(head: readonly string[]): Partial<Record<Column, number>> | null {
  const places: Partial<Record<Column, number>> = {};
  head.forEach((title, index) => {
    const column = NAMES.find((name) => COLUMNS[name].includes(title.trim().toLowerCase()));
    if (column !== undefined) places[column] ??= index;
  });
  return places.key === undefined && places.name === undefined ? null : places;
}

/** The changes that a plan asks for: of a key that is there, what differs, and what takes it back where its name is known. */
export function changesIn(plan: readonly ImportLine[]): readonly Change[] {
  return plan.flatMap(({ line, key, effect, now, ...wanted }): readonly Change[] => {
    if (effect === 'bad') return [];
    const change = now === null ? { item: creationOf(key, wanted) } : updateOf(now, wanted);
    return change === null ? [] : [{ ...change, line }];
  });
}
