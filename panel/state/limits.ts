import type { Change } from '../api/jobs.js';
import type { User } from '../api/wire.js';
import { narrow, type Whole } from '../text/exact-json.js';
import { readLimit, splitLimit, type Unit, unitName } from '../text/sizes.js';
import type { NamedKey } from './named-keys.js';

/** The ways to change the limit of a key, each by the limit that it has and a size. */
const MODES = {
  set: (_: Whole | null, size: Whole) => size,
  add: (limit: Whole | null, size: Whole) => (limit === null ? null : sumOf(limit, size)),
  remove: () => null,
} satisfies Readonly<Record<string, (limit: Whole | null, size: Whole) => Whole | null>>;
export type LimitMode = keyof typeof MODES;

/** The sum, at most the largest limit there is. */
function sumOf(limit: Whole, more: Whole): Whole {
  const sum = BigInt(limit) + BigInt(more);
  return narrow(sum < 2n ** 64n ? sum : 2n ** 64n - 1n);
}

export function changedLimit(limit: Whole | null, mode: LimitMode, size: Whole): Whole | null {
  return MODES[mode](limit, size);
}

/** The changes of the limits of keys, each with what takes it back. */
export function limitChanges(
  keys: readonly NamedKey[],
  byKey: ReadonlyMap<string, User>,
  mode: LimitMode,
  size: Whole,
): readonly Change[] {
  return keys.map(({ key }) => {
    const before = byKey.get(key)?.limit_bytes ?? null;
    const update = { op: 'update', access_key: key } as const;
    return {
      item: { ...update, limit_bytes: changedLimit(before, mode, size) },
      back: { ...update, limit_bytes: before },
    };
  });
}

/** The content of a limit field. */
export interface LimitDraft {
  readonly amount: string;
  readonly unit: Unit;
}

export function limitDraft(limit: Whole | null): LimitDraft {
  return limit === null ? { amount: '', unit: 'GiB' } : splitLimit(limit);
}

/** The draft as one text, such as `1.5 GiB`; an amount that names its unit itself stays as it was typed. */
export function limitText({ amount, unit }: LimitDraft, language: string): string {
  return amount === '' || /\p{L}/u.test(amount) ? amount : `${amount} ${unitName(unit, language)}`;
}

const MORE = 10n * 1024n ** 3n;

/** The limit with 10 GiB more, at most the largest there is. */
export function raised(limit: Whole | null): Whole {
  return sumOf(limit ?? 0, MORE);
}

/** The draft of a limit field and what it reads as. */
export function limitOf(draft: LimitDraft, setDraft: (draft: LimitDraft) => void) {
  return { draft, setDraft, reading: readLimit(draft.amount, draft.unit) };
}
