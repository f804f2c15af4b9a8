import { commonErrors } from '../src/wire/errors.js';
import { atServerRoot } from '../src/wire/traits/api-root.js';
import { staticToken } from '../src/wire/traits/auth.js';
import { onlineWithCounters } from '../src/wire/traits/online.js';
import type { Revision } from '../src/wire/traits/revision.js';
import { plainKeysFile } from '../src/wire/traits/server-file.js';
import { configuredQuery } from '../src/wire/traits/share-link.js';
import { snapshotWithoutName } from '../src/wire/traits/snapshot.js';
import { statusOfCounts } from '../src/wire/traits/status-form.js';
import { storesNothing } from '../src/wire/traits/storing.js';
import { oneLink } from '../src/wire/traits/subscribe-form.js';

/** The line that learned the configured share-link query; still without configuration endpoints. */
export const line0_2_25: Revision = {
  id: '0.2.25',
  from: '0.2.25',
  to: '0.2.30',
  reportedVersion: '0.2.30',
  recordedFrom: null,
  root: atServerRoot,
  auth: staticToken,
  snapshot: snapshotWithoutName,
  online: onlineWithCounters,
  shareQuery: configuredQuery,
  subscribe: oneLink,
  status: statusOfCounts,
  anyOrigin: true,
  errors: commonErrors,
  file: plainKeysFile,
  storing: storesNothing,
  endsSessionsOverLimit: false,
  connectionsFall: false,
  capabilities: {},
};
