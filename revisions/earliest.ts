import { commonErrors } from '../src/wire/errors.js';
import { atServerRoot } from '../src/wire/traits/api-root.js';
import { staticToken } from '../src/wire/traits/auth.js';
import { onlineWithCounters } from '../src/wire/traits/online.js';
import type { Revision } from '../src/wire/traits/revision.js';
import { namedKeysFile } from '../src/wire/traits/server-file.js';
import { configuredQuery } from '../src/wire/traits/share-link.js';
import { snapshotWithoutName } from '../src/wire/traits/snapshot.js';
import { statusOfCounts } from '../src/wire/traits/status-form.js';
import { storesAll } from '../src/wire/traits/storing.js';
import { oneLink } from '../src/wire/traits/subscribe-form.js';

/** The earliest revision: one static token, no panel, no names. */
export const earliest: Revision = {
  id: 'earliest',
  from: '0.2.31',
  to: '0.2.34',
  reportedVersion: '0.2.34',
  recordedFrom: '0.2.34',
  root: atServerRoot,
  auth: staticToken,
  snapshot: snapshotWithoutName,
  online: onlineWithCounters,
  shareQuery: configuredQuery,
  subscribe: oneLink,
  status: statusOfCounts,
  anyOrigin: true,
  errors: commonErrors,
  file: namedKeysFile,
  storing: storesAll,
  endsSessionsOverLimit: true,
  connectionsFall: false,
  capabilities: { config: true },
};
