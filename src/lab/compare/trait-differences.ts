import type { Capabilities, Capability, Revision } from '../../wire/traits/revision.js';

/** A trait in which two revisions' records differ: its name in the table of revisions, and its two values. */
export type TraitDifference = ReturnType<typeof traitDifferences>[number];

const NONE = 'none';

/** The name of each capability's form. */
const CAPABILITIES: { readonly [Name in Capability]: (capability: NonNullable<Capabilities[Name]>) => string } = {
  config: () => 'served',
  login: () => 'served',
  panel: ({ missingFile }) => missingFile.name,
  dns: ({ form }) => form.name,
  audit: ({ access }) => (access === 'open' ? 'served' : 'served, protected'),
  bulk: () => 'served',
  rules: ({ form }) => form.name,
  share: () => 'served',
  qr: () => 'served',
  dnsEngine: ({ form }) => form.name,
  overnet: ({ form }) => form.name,
};

/** Every trait that shows in answers, by its name in the table of revisions. */
const TRAITS: Readonly<Record<string, (revision: Revision) => string>> = {
  'API root': ({ root }) => root.name,
  auth: ({ auth }) => auth.name,
  snapshot: ({ snapshot }) => snapshot.name,
  online: ({ online }) => online.name,
  'share query': ({ shareQuery }) => shareQuery.name,
  subscription: ({ subscribe }) => subscribe.name,
  status: ({ status }) => status.name,
  'other origins': ({ anyOrigin }) => (anyOrigin ? 'may call' : 'may not call'),
  'file layout': ({ file }) => file.layout,
};

function capabilityOf<Name extends Capability>({ capabilities }: Revision, name: Name): string {
  const capability = capabilities[name];
  return capability === undefined ? NONE : CAPABILITIES[name](capability);
}

/** Lists the traits in which two revisions differ, in the order of the tables. */
export function traitDifferences(from: Revision, to: Revision) {
  const traits = Object.entries(TRAITS).map(([trait, name]) => ({ trait, from: name(from), to: name(to) }));
  // Object.keys is typed as string; the table has exactly these names.
  const capabilities = (Object.keys(CAPABILITIES) as Capability[]).map((trait) => ({
    trait,
    from: capabilityOf(from, trait),
    to: capabilityOf(to, trait),
  }));
  return [...traits, ...capabilities].filter((each) => each.from !== each.to);
}

/** Returns them as parts of sentences; two lines with the same traits differ only in their versions. */
export function differencesInWords(from: Revision, to: Revision): readonly string[] {
  const words = traitDifferences(from, to).map(traitWords);
  return words.length > 0 ? words : ['nothing but the version that it reports'];
}

/** Returns one difference as part of a sentence. */
export function traitWords({ trait, from, to }: TraitDifference): string {
  return `${trait}: ${from} → ${to}`;
}
