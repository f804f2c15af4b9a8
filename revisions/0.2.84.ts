import { commonErrors } from '../src/wire/errors.js';
import { underBase } from '../src/wire/traits/api-root.js';
import { sessionOrStaticToken } from '../src/wire/traits/auth.js';
import { dnsOfSixMembers } from '../src/wire/traits/dns-form.js';
import { indexForAnyMissingFile } from '../src/wire/traits/missing-file.js';
import { onlineWhenConnected } from '../src/wire/traits/online.js';
import type { Revision } from '../src/wire/traits/revision.js';
import { ruleWithoutProtocol } from '../src/wire/traits/rule-form.js';
import { largerDnsFile } from '../src/wire/traits/server-file.js';
import { configuredQueryWithOwnDns } from '../src/wire/traits/share-link.js';
import { snapshotWithNameAndLastSeen } from '../src/wire/traits/snapshot.js';
import { statusOfCounts } from '../src/wire/traits/status-form.js';
import { storesAll } from '../src/wire/traits/storing.js';
import { oneLink } from '../src/wire/traits/subscribe-form.js';

/** The line between DNS and current: it has the DNS endpoints and the newer ones, with its own rule and DNS objects. */
export const line0_2_84: Revision = {
  id: '0.2.84',
  from: '0.2.84',
  to: '0.2.87',
  reportedVersion: '0.2.87',
  recordedFrom: '0.2.86',
  root: underBase,
  auth: sessionOrStaticToken,
  snapshot: snapshotWithNameAndLastSeen,
  online: onlineWhenConnected,
  shareQuery: configuredQueryWithOwnDns,
  subscribe: oneLink,
  status: statusOfCounts,
  anyOrigin: true,
  errors: commonErrors,
  file: largerDnsFile,
  storing: storesAll,
  endsSessionsOverLimit: true,
  connectionsFall: false,
  capabilities: {
    config: true,
    login: true,
    panel: { missingFile: indexForAnyMissingFile },
    dns: { form: dnsOfSixMembers },
    audit: { access: 'open' },
    bulk: true,
    rules: { form: ruleWithoutProtocol },
  },
};
