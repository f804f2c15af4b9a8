import { capabilitiesOf } from '../src/wire/traits/revision.js';
import { REVISIONS } from './all.js';

/** The table of `keyway revisions` and of the README, made from the records: a heading row, then one row per revision. */
export function revisionTable(): readonly (readonly string[])[] {
  const rows = REVISIONS.map((revision) => [
    revision.id,
    revision.from,
    revision.to ?? 'later',
    revision.root.name,
    revision.auth.name,
    revision.snapshot.name,
    revision.online.name,
    revision.shareQuery.name,
    capabilitiesOf(revision).join(', ') || 'none',
    revision.recordedFrom ?? 'no',
  ]);
  return [
    ['id', 'from', 'to', 'API root', 'auth', 'snapshot', 'online', 'share query', 'capabilities', 'recorded'],
    ...rows,
  ];
}
