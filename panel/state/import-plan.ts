import type { Change } from '../api/jobs.js';
import type { User } from '../api/wire.js';
import { parseCsv } from '../text/csv.js';
import type { Whole } from '../text/exact-json.js';
import { type LimitProblem, type LimitReading, readLimit } from '../text/sizes.js';

/** The effect of one line of a table. A member left out is not in the table, and stays as it is. */
export interface ImportLine {
  /** From 1, as an editor counts. */
  readonly line: number;
  /** Empty has one generated. */
  readonly key: string;
  readonly name?: string;
  readonly limit?: Whole | null;
  readonly effect: 'create' | 'change' | 'same' | 'bad';
  /** Why it is bad, else null. */
  readonly problem: ImportProblem | null;
  /** The key as the server has it, else null. */
  readonly now: User | null;
}

export type ImportProblem = LimitProblem | 'noUnit' | 'twice' | 'unaddressable' | 'longName';

type NoUnit = { readonly ok: false; readonly problem: 'noUnit' };

/** The names of the columns. */
const COLUMNS: Readonly<Record<'key' | 'name' | 'limit', readonly string[]>> = {
  key: ['access_key', 'key', 'ключ'],
  name: ['name', 'имя'],
  limit: ['limit_bytes', 'limit', 'лимит'],
};
/** The column whose numbers are bytes, as in an export. */
const [IN_BYTES] = COLUMNS.limit;
/** Bytes below which a number without a unit was meant in another one; 0 is no traffic in any. */
const LEAST_BARE = 1_000_000;
type Column = keyof typeof COLUMNS;

const LONGEST_NAME = 10_000;

/**
 * Plans the changes of a table of keys. Its columns are key, name and limit, in this order or as its first line calls
 * them; others are left alone. A limit without a unit is bytes where its column is called so or there are many, and an empty one is none.
 */
export function planImport(text: string, byKey: ReadonlyMap<string, User>): readonly ImportLine[] {
  const rows = parseCsv(text);
  const named = columnsOf(rows[0] ?? []);
  const places = named ?? { key: 0, name: 1, limit: 2 };
  const inBytes = rows[0]?.some((title) => title.trim().toLowerCase() === IN_BYTES) === true;
  const seen = new Set<string>();
  return rows.slice(named === null ? 0 : 1).map((row, index) => {
    const line = index + (named === null ? 1 : 2);
    const cell = (column: Column) => {
      const place = places[column];
      return place === undefined ? undefined : row[place];
    };
    const limit = cell('limit');
    const reading = limit === undefined ? null : readLimit(limit, 'B');
    const isBare = !inBytes && /^\d+$/.test(limit?.trim() ?? '') && Number(limit) > 0 && Number(limit) < LEAST_BARE;
    const read = readRow(
      cell('key') ?? '',
      cell('name'),
      isBare ? { ok: false, problem: 'noUnit' } : reading,
      seen,
      byKey,
    );
    if (read.key !== '') seen.add(read.key);
    return { line, ...read };
  });
}

function readRow(
  key: string,
  name: string | undefined,
  reading: LimitReading | NoUnit | null,
  seen: ReadonlySet<string>,
  byKey: ReadonlyMap<string, User>,
): Omit<ImportLine, 'line'> {
  const now = byKey.get(key) ?? null;
  const wanted = {
    key,
    ...(name === undefined ? {} : { name }),
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
          : (name ?? '').length > LONGEST_NAME
            ? 'longName'
            : null;
  return { ...wanted, problem, effect: problem !== null ? 'bad' : now === null ? 'create' : effectOn(now, wanted) };
}

/** A name that the server does not tell may be any: it is set again. */
function effectOn(now: User, { name, limit }: Pick<ImportLine, 'name' | 'limit'>): 'change' | 'same' {
  const sameName = name === undefined || (now.name !== undefined && (now.name ?? '') === name);
  return sameName && (limit === undefined || limit === now.limit_bytes) ? 'same' : 'change';
}

/** The places of the columns, or null where the first line names none. */
function columnsOf(head: readonly string[]): Partial<Record<Column, number>> | null {
  const places: Partial<Record<Column, number>> = {};
  head.forEach((title, index) => {
    for (const column of ['key', 'name', 'limit'] as const) {
      if (COLUMNS[column].includes(title.trim().toLowerCase())) places[column] ??= index;
    }
  });
  return places.key === undefined && places.name === undefined ? null : places;
}

/** The changes that a plan asks for: of a key that is there, what differs. */
export function changesIn(plan: readonly ImportLine[]): readonly Change[] {
  return plan.flatMap(({ line, key, name, limit, effect, now }): readonly Change[] => {
    if (effect === 'create') {
      const wanted = {
        ...(key !== '' && { access_key: key }),
        ...(name && { name }),
        ...(limit != null && { limit_bytes: limit }),
      };
      return [{ item: { op: 'create', ...wanted }, line }];
    }
    if (effect !== 'change' || now === null) return [];
    const named = name !== undefined &&
      (now.name === undefined || name !== (now.name ?? '')) && { name: name === '' ? null : name };
    const limited = limit !== undefined && limit !== now.limit_bytes && { limit_bytes: limit };
    return [{ item: { op: 'update', access_key: key, ...named, ...limited }, line }];
  });
}
