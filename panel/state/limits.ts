import { readLimit, splitLimit, tenOf, UNITS, type Unit, unitName } from '../../src/text/sizes.js';
import { narrow, type Whole } from '../../src/text/whole.js';
import type { Change } from '../api/jobs.js';
import type { User } from '../api/wire.js';
import { createStore, type Store } from '../store/store.js';
import type { NamedKey } from './named-keys.js';
import { perWorkspace } from './per-workspace.js';

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

/** The draft of a limit; of none, in the unit that is given. */
export function limitDraft(limit: Whole | null, unit: Unit): LimitDraft {
  return limit === null ? { amount: '', unit } : splitLimit(limit);
}

const LAST_UNIT = 'keyway:unit';

/** The unit that was chosen or typed last, in which the next limit begins; kept by the browser. */
export const lastUnitOf = perWorkspace<Store<Unit>>(({ tab }) => {
  const kept = tab.keptForGood.read(LAST_UNIT);
  const unit = createStore<Unit>(UNITS.find((known) => known === kept) ?? 'GiB');
  unit.subscribe(() => tab.keptForGood.write(LAST_UNIT, unit.get()));
  return unit;
});

/** The draft as one text, such as `1.5 GiB`; an amount that names its unit itself stays as it was typed. */
export function limitText({ amount, unit }: LimitDraft, language: string): string {
  return amount === '' || /\p{L}/u.test(amount) ? amount : `${amount} ${unitName(unit, language)}`;
}

/** The limit with ten more of a unit, at most the largest there is. */
export function raised(limit: Whole | null, unit: Unit): Whole {
  return sumOf(limit ?? 0, tenOf(unit));
}

/** The draft of a limit field and what it reads as. */
export function limitOf(draft: LimitDraft, setDraft: (draft: LimitDraft) => void) {
  return { draft, setDraft, reading: readLimit(draft.amount, draft.unit) };
}
