import { commonErrors } from '../src/wire/errors.js';
import { underBase } from '../src/wire/traits/api-root.js';
import { sessionToken } from '../src/wire/traits/auth.js';
import { dnsOfFourMembers } from '../src/wire/traits/dns-form.js';
import { indexForAnyMissingFile } from '../src/wire/traits/missing-file.js';
import { onlineWithCounters } from '../src/wire/traits/online.js';
import type { Revision } from '../src/wire/traits/revision.js';
import { dnsFile } from '../src/wire/traits/server-file.js';
import { configuredQueryWithOwnDns } from '../src/wire/traits/share-link.js';
import { snapshotWithName } from '../src/wire/traits/snapshot.js';
import { statusOfCounts } from '../src/wire/traits/status-form.js';
import { storesAll } from '../src/wire/traits/storing.js';
import { oneLink } from '../src/wire/traits/subscribe-form.js';

/** The DNS revision: DNS endpoints, and `owndns` in share links. */
export const dns: Revision = {
  id: 'dns',
  from: '0.2.45',
  to: '0.2.50',
  reportedVersion: '0.2.50',
  recordedFrom: '0.2.48',
  root: underBase,
  auth: sessionToken,
  snapshot: snapshotWithName,
  online: onlineWithCounters,
  shareQuery: configuredQueryWithOwnDns,
  subscribe: oneLink,
  status: statusOfCounts,
  anyOrigin: true,
  errors: commonErrors,
  file: dnsFile,
  storing: storesAll,
  endsSessionsOverLimit: true,
  connectionsFall: false,
  capabilities: {
    config: true,
    login: true,
    panel: { missingFile: indexForAnyMissingFile },
    dns: { form: dnsOfFourMembers },
  },
};
