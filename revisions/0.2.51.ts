import { commonErrors } from '../src/wire/errors.js';
import { underBase } from '../src/wire/traits/api-root.js';
import { sessionOrStaticToken } from '../src/wire/traits/auth.js';
import { dnsOfFourMembers } from '../src/wire/traits/dns-form.js';
import { indexForAnyMissingFile } from '../src/wire/traits/missing-file.js';
import { onlineWithCounters } from '../src/wire/traits/online.js';
import type { Revision } from '../src/wire/traits/revision.js';
import { tokenAndDnsFile } from '../src/wire/traits/server-file.js';
import { configuredQueryWithOwnDns } from '../src/wire/traits/share-link.js';
import { snapshotWithName } from '../src/wire/traits/snapshot.js';
import { statusOfCounts } from '../src/wire/traits/status-form.js';
import { storesAll } from '../src/wire/traits/storing.js';
import { oneLink } from '../src/wire/traits/subscribe-form.js';

/** The DNS revision that also takes the static token. */
export const line0_2_51: Revision = {
  id: '0.2.51',
  from: '0.2.51',
  to: '0.2.83',
  reportedVersion: '0.2.83',
  recordedFrom: '0.2.60',
  root: underBase,
  auth: sessionOrStaticToken,
  snapshot: snapshotWithName,
  online: onlineWithCounters,
  shareQuery: configuredQueryWithOwnDns,
  subscribe: oneLink,
  status: statusOfCounts,
  anyOrigin: true,
  errors: commonErrors,
  file: tokenAndDnsFile,
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
