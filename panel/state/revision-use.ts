import type { Whole } from '../../src/text/whole.js';
import type { UsageRow } from '../api/usage.js';
import { add } from '../text/exact-json.js';

/** The calls of somebody, summed up. */
interface Sum {
  readonly calls: Whole;
  /** Days of any call. */
  readonly days: ReadonlySet<string>;
  readonly lastSeen: number;
}

/** A program with the credential that it shows. */
export interface Caller extends Sum {
  readonly by: string;
  readonly program: string;
  /** By name, the most used first. */
  readonly operations: readonly string[];
}

/** The use of one revision. */
export interface RevisionUse extends Sum {
  readonly revision: string;
  readonly sunset: number | null;
  /** The callers that its end would cut off, the last seen first. */
  readonly callers: readonly Caller[];
}

/** Keyway's own interface, which is no revision and stays. */
export const OWN = 'v1';

const DAY = 86_400_000;

/** The rows of the last days, today's among them. */
export function lastDays(rows: readonly UsageRow[], days: number, now: number): readonly UsageRow[] {
  const first = new Date(now - (days - 1) * DAY).toISOString().slice(0, 10);
  return rows.filter(({ day }) => day >= first);
}

/** Sums up the use of each revision: those whose end is announced first, then the last seen. */
export function useByRevision(rows: readonly UsageRow[]): readonly RevisionUse[] {
  return [...groups(rows, ({ revision }) => revision)]
    .map(([revision, own]) => ({
      ...{ revision, sunset: own[0]?.sunset ?? null, callers: callersOf(own) },
      ...sumOf(own),
    }))
    .sort((a, b) => Number(b.sunset !== null) - Number(a.sunset !== null) || b.lastSeen - a.lastSeen);
}

/** The caller that rows are summed up under where there are too many. */
const OTHERS = 'others';

/** The last call with a token, in milliseconds since the epoch; null for none, undefined where it may be one of the `others`. */
export function lastUseOf(rows: readonly UsageRow[], token: string): number | null | undefined {
  const own = rows.filter(({ by }) => by === token);
  if (own.length > 0) return own.reduce((last, { lastSeen }) => Math.max(last, lastSeen), 0);
  return rows.some(({ by }) => by === OTHERS) ? undefined : null;
}

function callersOf(rows: readonly UsageRow[]): readonly Caller[] {
  return [...groups(rows, ({ by, program }) => JSON.stringify([by, program])).values()]
    .flatMap((own) => (own[0] === undefined ? [] : [callerOf(own[0], own)]))
    .sort((a, b) => b.lastSeen - a.lastSeen);
}

function callerOf({ by, program }: UsageRow, rows: readonly UsageRow[]): Caller {
  const operations = [...groups(rows, ({ operation }) => operation)]
    .map(([operation, own]) => ({ operation, calls: sumOf(own).calls }))
    .sort((a, b) => (a.calls === b.calls ? 0 : a.calls > b.calls ? -1 : 1))
    .map(({ operation }) => operation);
  return { by, program, operations, ...sumOf(rows) };
}

function sumOf(rows: readonly UsageRow[]): Sum {
  return {
    calls: rows.reduce<Whole>((sum, { count }) => add(sum, count), 0),
    days: new Set(rows.map(({ day }) => day)),
    lastSeen: rows.reduce((last, { lastSeen }) => Math.max(last, lastSeen), 0),
  };
}

function groups<T>(items: readonly T[], nameOf: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  const found = new Map<string, T[]>();
  for (const item of items) {
    const name = nameOf(item);
    const group = found.get(name);
    if (group === undefined) found.set(name, [item]);
    else group.push(item);
  }
  return found;
}
