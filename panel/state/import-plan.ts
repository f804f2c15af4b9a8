import { readCsv } from '../../src/text/csv.js';
import { isTooLongNote } from '../../src/text/notes.js';
import { type LimitProblem, type LimitReading, lacksUnit, readLimit } from '../../src/text/sizes.js';
import type { Whole } from '../../src/text/whole.js';
import type { Change } from '../api/jobs.js';
import type { User } from '../api/wire.js';

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

/** The names of the columns. */
const COLUMNS: Readonly<Record<'key' | 'name' | 'limit' | 'note', readonly string[]>> = {
  key: ['access_key', 'key', 'ключ'],
  name: ['name', 'label', 'имя', 'название'],
  limit: ['limit_bytes', 'limit', 'лимит'],
  note: ['note', 'заметка'],
};
/** The column whose numbers are bytes, as in an export. */
const [IN_BYTES] = COLUMNS.limit;
type Column = keyof typeof COLUMNS;

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
  return { ...wanted, problem, effect: problem !== null ? 'bad' : now === null ? 'create' : effectOn(now, wanted) };
}

/** A name that the server does not tell may be any: it is set again. */
function effectOn(now: User, { name, note, limit }: Pick<ImportLine, 'name' | 'note' | 'limit'>): 'change' | 'same' {
  const sameName = name === undefined || (now.name !== undefined && (now.name ?? '') === name);
  const sameNote = note === undefined || note === (now.note ?? '');
  return sameName && sameNote && (limit === undefined || limit === now.limit_bytes) ? 'same' : 'change';
}

/** The places of the columns, or null where the first line names none. */
function columnsOf(head: readonly string[]): Partial<Record<Column, number>> | null {
  const places: Partial<Record<Column, number>> = {};
  head.forEach((title, index) => {
    for (const column of ['key', 'name', 'limit', 'note'] as const) {
      if (COLUMNS[column].includes(title.trim().toLowerCase())) places[column] ??= index;
    }
  });
  return places.key === undefined && places.name === undefined ? null : places;
}

/** The changes that a plan asks for: of a key that is there, what differs, and what takes it back where its name is known. */
export function changesIn(plan: readonly ImportLine[]): readonly Change[] {
  return plan.flatMap(({ line, key, name, note, limit, effect, now }): readonly Change[] => {
    if (effect === 'create') {
      const wanted = {
        ...(key !== '' && { access_key: key }),
        ...(name && { name }),
        ...(limit != null && { limit_bytes: limit }),
        ...(note && { note }),
      };
      return [{ item: { op: 'create', ...wanted }, line }];
    }
    if (effect !== 'change' || now === null) return [];
    const named = name !== undefined &&
      (now.name === undefined || name !== (now.name ?? '')) && { name: name === '' ? null : name };
    const limited = limit !== undefined && limit !== now.limit_bytes && { limit_bytes: limit };
    const noted = note !== undefined && note !== (now.note ?? '') && { note: note || null };
    const update = { op: 'update', access_key: key } as const;
    const item = { ...update, ...named, ...limited, ...noted };
    if (named !== false && now.name === undefined) return [{ item, line }];
    const before = {
      ...(named && { name: now.name || null }),
      ...(limited && { limit_bytes: now.limit_bytes }),
      ...(noted && { note: now.note || null }),
    };
    return [{ item, back: { ...update, ...before }, line }];
  });
}
