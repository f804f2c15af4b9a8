import type { KeyChange } from '../core/backend.js';
import type { KeyMakers } from '../core/keys/key-makers.js';
import type { Principal } from '../core/principal.js';
import type { Rotations } from './rotations.js';

/** Has what is kept beside keys follow changes that were made of them, by whom. */
export function followChanges({
  makers,
  rotations,
}: {
  readonly makers: KeyMakers;
  readonly rotations: Pick<Rotations, 'follow'>;
}): (changes: readonly KeyChange[], by: Principal) => Promise<void> {
  return async (changes, by) => {
    const created = changes.flatMap((each) => (each.op === 'create' ? [each.key.accessKey] : []));
    if (created.length > 0) await makers.made(by, created);
    const gone = changes.flatMap((each) => (each.op === 'delete' ? [each.accessKey] : []));
    if (gone.length > 0) await makers.gone(gone);
    for (const each of changes) if (each.op === 'rotate') await rotations.follow(each.accessKey, each.successor);
  };
}
