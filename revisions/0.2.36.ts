import { commonErrors } from '../src/wire/errors.js';
import { underBase } from '../src/wire/traits/api-root.js';
import { sessionToken } from '../src/wire/traits/auth.js';
import { indexForAnyMissingFile } from '../src/wire/traits/missing-file.js';
import { onlineWithCounters } from '../src/wire/traits/online.js';
import type { Revision } from '../src/wire/traits/revision.js';
import { loginFile } from '../src/wire/traits/server-file.js';
import { configuredQuery } from '../src/wire/traits/share-link.js';
import { snapshotWithName } from '../src/wire/traits/snapshot.js';
import { statusOfCounts } from '../src/wire/traits/status-form.js';
import { storesAll } from '../src/wire/traits/storing.js';
import { oneLink } from '../src/wire/traits/subscribe-form.js';

/** The line that brought panel, login and the web path; no DNS endpoints yet. */
export const line0_2_36: Revision = {
  id: '0.2.36',
  from: '0.2.36',
  to: '0.2.44',
  reportedVersion: '0.2.44',
  recordedFrom: '0.2.43',
  root: underBase,
  auth: sessionToken,
  snapshot: snapshotWithName,
  online: onlineWithCounters,
  shareQuery: configuredQuery,
  subscribe: oneLink,
  status: statusOfCounts,
  anyOrigin: true,
  errors: commonErrors,
  file: loginFile,
  storing: storesAll,
  endsSessionsOverLimit: true,
  connectionsFall: false,
  capabilities: { config: true, login: true, panel: { missingFile: indexForAnyMissingFile } },
};
