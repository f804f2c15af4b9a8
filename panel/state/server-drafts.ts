import { areEqual } from '../text/exact-json.js';
import { createServerDrafts } from './drafts.js';

/** The outbound rules under edit. */
export const rulesDraftsOf = createServerDrafts({
  read: ({ server }) => server.rules(),
  write: ({ server }, { now }, tag) => server.replaceRules(now, tag),
  isSame: areEqual,
  event: 'saveRules',
  count: (rules) => rules.length,
  saved: (words) => words('rules.saved'),
});

/** The DNS settings under edit. */
export const dnsDraftsOf = createServerDrafts({
  read: ({ server }) => server.dns(),
  write: ({ server, reach }, { base, now }, tag) => {
    const changed = Object.entries(now).filter(([name, value]) => !areEqual(value, base[name]));
    // Keyway leaves absent members as they are.
    return server.replaceDns(
      reach.get() === 'all' ? { ...Object.fromEntries(changed), enabled: now.enabled } : now,
      tag,
    );
  },
  isSame: Object.is,
  event: 'saveDns',
  saved: (words) => words('dns.saved'),
});
