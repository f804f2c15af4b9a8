import { throttledErrors } from '../src/wire/errors.js';
import { underBase } from '../src/wire/traits/api-root.js';
import { sessionOrTokenNeverOpen } from '../src/wire/traits/auth.js';
import { dnsSettingsOfAnEngine } from '../src/wire/traits/dns-engine-form.js';
import { indexForAnyMissingFile } from '../src/wire/traits/missing-file.js';
import { onlineWhenConnected } from '../src/wire/traits/online.js';
import { overnetOfFiveMembers } from '../src/wire/traits/overnet-form.js';
import type { Revision } from '../src/wire/traits/revision.js';
import { ruleWithSendFrom } from '../src/wire/traits/rule-form.js';
import { overnetFile } from '../src/wire/traits/server-file.js';
import { udpQueryWithOwnDns } from '../src/wire/traits/share-link.js';
import { snapshotWithNameAndLastSeen } from '../src/wire/traits/snapshot.js';
import { statusWithEndpoint } from '../src/wire/traits/status-form.js';
import { storesAllAndCounters } from '../src/wire/traits/storing.js';
import { linkOfEachCarrier } from '../src/wire/traits/subscribe-form.js';

/** 0.4.6, but no page of another origin may call, and a login that is kept waiting is told so. Beta. */
export const line0_4_7: Revision = {
  id: '0.4.7',
  from: '0.4.7',
  to: null,
  reportedVersion: '0.4.7',
  recordedFrom: '0.4.7',
  root: underBase,
  auth: sessionOrTokenNeverOpen,
  snapshot: snapshotWithNameAndLastSeen,
  online: onlineWhenConnected,
  shareQuery: udpQueryWithOwnDns,
  subscribe: linkOfEachCarrier,
  status: statusWithEndpoint,
  anyOrigin: false,
  errors: throttledErrors,
  file: overnetFile,
  storing: storesAllAndCounters,
  endsSessionsOverLimit: true,
  connectionsFall: true,
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
    overnet: { form: overnetOfFiveMembers },
  },
};
