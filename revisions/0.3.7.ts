import { commonErrors } from '../src/wire/errors.js';
import { underBase } from '../src/wire/traits/api-root.js';
import { sessionOrStaticToken } from '../src/wire/traits/auth.js';
import { inboundsThenLegacyList } from '../src/wire/traits/file-reading.js';
import { notFoundForMissingFileWithDot } from '../src/wire/traits/missing-file.js';
import { onlineWhenConnected } from '../src/wire/traits/online.js';
import type { Revision } from '../src/wire/traits/revision.js';
import { ruleWithProtocol } from '../src/wire/traits/rule-form.js';
import { udpQueryWithOwnDns } from '../src/wire/traits/share-link.js';
import { snapshotWithNameAndLastSeen } from '../src/wire/traits/snapshot.js';
import { storesBesideInbounds } from '../src/wire/traits/storing.js';

/** Current, but a missing static file with a `.` in its path is not found; its servers' file has `inbounds`. */
export const line0_3_7: Revision = {
  id: '0.3.7',
  from: '0.3.7',
  to: null,
  reportedVersion: '0.3.21',
  recordedFrom: '0.3.21',
  root: underBase,
  auth: sessionOrStaticToken,
  snapshot: snapshotWithNameAndLastSeen,
  online: onlineWhenConnected,
  shareQuery: udpQueryWithOwnDns,
  errors: commonErrors,
  fileReading: inboundsThenLegacyList,
  storing: storesBesideInbounds,
  endsSessionsOverLimit: true,
  capabilities: {
    config: true,
    login: true,
    panel: { missingFile: notFoundForMissingFileWithDot },
    audit: true,
    bulk: true,
    rules: { form: ruleWithProtocol },
  },
};
