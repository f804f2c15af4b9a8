import { commonErrors } from '../src/wire/errors.js';
import { underBase } from '../src/wire/traits/api-root.js';
import { sessionOrStaticToken } from '../src/wire/traits/auth.js';
import { indexForAnyMissingFile } from '../src/wire/traits/missing-file.js';
import { onlineWhenConnected } from '../src/wire/traits/online.js';
import type { Revision } from '../src/wire/traits/revision.js';
import { ruleWithProtocol } from '../src/wire/traits/rule-form.js';
import { flatAgainFile } from '../src/wire/traits/server-file.js';
import { udpQueryWithOwnDns } from '../src/wire/traits/share-link.js';
import { snapshotWithNameAndLastSeen } from '../src/wire/traits/snapshot.js';
import { statusOfCounts } from '../src/wire/traits/status-form.js';
import { storesAll } from '../src/wire/traits/storing.js';
import { oneLink } from '../src/wire/traits/subscribe-form.js';

/** Current; nothing of these servers was seen, and their version alone tells them from it. */
export const line0_4_0: Revision = {
  id: '0.4.0',
  from: '0.4.0',
  to: '0.4.5',
  reportedVersion: '0.4.5',
  recordedFrom: null,
  root: underBase,
  auth: sessionOrStaticToken,
  snapshot: snapshotWithNameAndLastSeen,
  online: onlineWhenConnected,
  shareQuery: udpQueryWithOwnDns,
  subscribe: oneLink,
  status: statusOfCounts,
  anyOrigin: true,
  errors: commonErrors,
  file: flatAgainFile,
  storing: storesAll,
  endsSessionsOverLimit: true,
  connectionsFall: false,
  capabilities: {
    config: true,
    login: true,
    panel: { missingFile: indexForAnyMissingFile },
    audit: { access: 'open' },
    bulk: true,
    rules: { form: ruleWithProtocol },
  },
};
