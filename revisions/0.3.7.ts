import { commonErrors } from '../src/wire/errors.js';
import { underBase } from '../src/wire/traits/api-root.js';
import { sessionOrStaticToken } from '../src/wire/traits/auth.js';
import { notFoundForMissingFileWithDot } from '../src/wire/traits/missing-file.js';
import { onlineWhenConnected } from '../src/wire/traits/online.js';
import type { Revision } from '../src/wire/traits/revision.js';
import { ruleWithProtocol } from '../src/wire/traits/rule-form.js';
import { inboundsFile } from '../src/wire/traits/server-file.js';
import { udpQueryWithOwnDns } from '../src/wire/traits/share-link.js';
import { snapshotWithNameAndLastSeen } from '../src/wire/traits/snapshot.js';
import { statusOfCounts } from '../src/wire/traits/status-form.js';
import { storesBesideInbounds } from '../src/wire/traits/storing.js';
import { oneLink } from '../src/wire/traits/subscribe-form.js';

/** Current, but a missing static file with a `.` in its path is not found; its servers' file has `inbounds`. */
export const line0_3_7: Revision = {
  id: '0.3.7',
  from: '0.3.7',
  to: '0.3.21',
  reportedVersion: '0.3.21',
  recordedFrom: '0.3.21',
  root: underBase,
  auth: sessionOrStaticToken,
  snapshot: snapshotWithNameAndLastSeen,
  online: onlineWhenConnected,
  shareQuery: udpQueryWithOwnDns,
  subscribe: oneLink,
  status: statusOfCounts,
  anyOrigin: true,
  errors: commonErrors,
  file: inboundsFile,
  storing: storesBesideInbounds,
  endsSessionsOverLimit: true,
  connectionsFall: false,
  capabilities: {
    config: true,
    login: true,
    panel: { missingFile: notFoundForMissingFileWithDot },
    audit: { access: 'open' },
    bulk: true,
    rules: { form: ruleWithProtocol },
  },
};
