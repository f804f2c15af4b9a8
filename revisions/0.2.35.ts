import { commonErrors } from '../src/wire/errors.js';
import { atServerRoot } from '../src/wire/traits/api-root.js';
import { staticToken } from '../src/wire/traits/auth.js';
import { onlineWithCounters } from '../src/wire/traits/online.js';
import type { Revision } from '../src/wire/traits/revision.js';
import { namedKeysFile } from '../src/wire/traits/server-file.js';
import { configuredQuery } from '../src/wire/traits/share-link.js';
import { snapshotWithName } from '../src/wire/traits/snapshot.js';
import { statusOfCounts } from '../src/wire/traits/status-form.js';
import { storesAll } from '../src/wire/traits/storing.js';
import { oneLink } from '../src/wire/traits/subscribe-form.js';

/** The earliest revision with `name` in snapshots. */
export const line0_2_35: Revision = {
  id: '0.2.35',
  from: '0.2.35',
  to: '0.2.35',
  reportedVersion: '0.2.35',
  recordedFrom: '0.2.35',
  root: atServerRoot,
  auth: staticToken,
  snapshot: snapshotWithName,
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
