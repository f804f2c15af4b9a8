import { commonErrors } from '../src/wire/errors.js';
import { underBase } from '../src/wire/traits/api-root.js';
import { sessionOrTokenNeverOpen } from '../src/wire/traits/auth.js';
import { dnsSettingsOfAnEngine } from '../src/wire/traits/dns-engine-form.js';
import { betasOf046 } from '../src/wire/traits/earlier-builds.js';
import { indexForAnyMissingFile } from '../src/wire/traits/missing-file.js';
import { onlineWhenConnected } from '../src/wire/traits/online.js';
import type { Revision } from '../src/wire/traits/revision.js';
import { ruleWithSendFrom } from '../src/wire/traits/rule-form.js';
import { domainFile } from '../src/wire/traits/server-file.js';
import { udpQueryWithOwnDns } from '../src/wire/traits/share-link.js';
import { snapshotWithNameAndLastSeen } from '../src/wire/traits/snapshot.js';
import { statusWithEndpoint } from '../src/wire/traits/status-form.js';
import { storesAllAndCounters } from '../src/wire/traits/storing.js';
import { linkOfEachCarrier } from '../src/wire/traits/subscribe-form.js';

/** Never open; status with sums and endpoint, links of each carrier, a guarded audit list, counters that outlive a restart. */
export const line0_4_6: Revision = {
  id: '0.4.6',
  from: '0.4.6',
  to: '0.4.6',
  reportedVersion: '0.4.6',
  recordedFrom: '0.4.6',
  root: underBase,
  auth: sessionOrTokenNeverOpen,
  snapshot: snapshotWithNameAndLastSeen,
  online: onlineWhenConnected,
  shareQuery: udpQueryWithOwnDns,
  subscribe: linkOfEachCarrier,
  status: statusWithEndpoint,
  anyOrigin: true,
  errors: commonErrors,
  file: domainFile,
  storing: storesAllAndCounters,
  endsSessionsOverLimit: true,
  connectionsFall: true,
  earlierBuilds: betasOf046,
  takesArrays: true,
  capabilities: {
    config: true,
    login: true,
    panel: { missingFile: indexForAnyMissingFile },
    audit: { access: 'protected' },
    bulk: true,
    rules: { form: ruleWithSendFrom },
    share: true,
    qr: true,
    dnsEngine: { form: dnsSettingsOfAnEngine },
  },
};
