import type { Use } from '../core/operation-use.js';
import { counter, type Family } from './family.js';

const LABELS = ['by', 'program', 'revision', 'operation'];

/** Counts the use of operations since the start; the rows are bounded where they are counted. */
export function useFamily(totals: () => readonly (Use & { readonly count: number })[]): Family {
  return counter(
    'keyway_use_total',
    'Requests that were let in, by token (or static, session, open), program, revision and operation; at most 1,000 series, the rest as "others".',
    () => totals().map(({ count, ...labels }) => ({ labels: { ...labels }, value: count })),
    LABELS,
  );
}
