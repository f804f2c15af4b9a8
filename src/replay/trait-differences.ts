import type { Revision } from '../wire/traits/revision.js';

/** What two revisions differ in by one trait of their records. */
export interface TraitDifference {
  /** Its name in the table of revisions. */
  readonly trait: string;
  readonly from: string;
  readonly to: string;
}

const NONE = 'none';

/** Every trait that a record names, by its name in the table of revisions; capabilities by their own. */
const TRAITS: Readonly<Record<string, (revision: Revision) => string>> = {
  'API root': ({ root }) => root.name,
  auth: ({ auth }) => auth.name,
  snapshot: ({ snapshot }) => snapshot.name,
  online: ({ online }) => online.name,
  'share query': ({ shareQuery }) => shareQuery.name,
  config: ({ capabilities }) => (capabilities.config ? 'served' : NONE),
  login: ({ capabilities }) => (capabilities.login ? 'served' : NONE),
  panel: ({ capabilities }) => capabilities.panel?.missingFile.name ?? NONE,
  dns: ({ capabilities }) => capabilities.dns?.form.name ?? NONE,
  audit: ({ capabilities }) => (capabilities.audit ? 'served' : NONE),
  bulk: ({ capabilities }) => (capabilities.bulk ? 'served' : NONE),
  rules: ({ capabilities }) => capabilities.rules?.form.name ?? NONE,
};

/** What two revisions differ in, in the order of the table. */
export function traitDifferences(from: Revision, to: Revision): readonly TraitDifference[] {
  return Object.entries(TRAITS)
    .map(([trait, name]) => ({ trait, from: name(from), to: name(to) }))
    .filter((each) => each.from !== each.to);
}

/** One difference as part of a sentence. */
export function traitWords({ trait, from, to }: TraitDifference): string {
  return `${trait}: ${from} → ${to}`;
}
