import { commonErrors } from '../src/wire/errors.js';
import { atServerRoot } from '../src/wire/traits/api-root.js';
import { staticToken } from '../src/wire/traits/auth.js';
import { onlineWithCounters } from '../src/wire/traits/online.js';
import type { Revision } from '../src/wire/traits/revision.js';
import { plainKeysFile } from '../src/wire/traits/server-file.js';
import { noQuery } from '../src/wire/traits/share-link.js';
import { snapshotWithoutName } from '../src/wire/traits/snapshot.js';
import { statusOfCounts } from '../src/wire/traits/status-form.js';
import { storesNothing } from '../src/wire/traits/storing.js';
import { oneLink } from '../src/wire/traits/subscribe-form.js';

/** The first released line: no configuration endpoints, and share links without a query. */
export const line0_2_0: Revision = {
  id: '0.2.0',
  from: '0.2.0',
  to: '0.2.24',
  reportedVersion: '0.2.24',
  recordedFrom: null,
  root: atServerRoot,
  auth: staticToken,
  snapshot: snapshotWithoutName,
  online: onlineWithCounters,
  shareQuery: noQuery,
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
