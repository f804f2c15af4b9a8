import { atServerRoot } from '../src/wire/traits/api-root.js';
import { staticToken } from '../src/wire/traits/auth.js';
import { dnsOfFourMembers } from '../src/wire/traits/dns-form.js';
import { rootMembers } from '../src/wire/traits/file-reading.js';
import { indexForAnyMissingFile } from '../src/wire/traits/missing-file.js';
import { onlineWithCounters } from '../src/wire/traits/online.js';
import type { Revision } from '../src/wire/traits/revision.js';
import { ruleWithProtocol } from '../src/wire/traits/rule-form.js';
import { configuredQuery } from '../src/wire/traits/share-link.js';
import { snapshotWithName } from '../src/wire/traits/snapshot.js';

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
  ruleForm: ruleWithProtocol,
  dnsForm: dnsOfFourMembers,
  missingFile: indexForAnyMissingFile,
  fileReading: rootMembers,
  capabilities: new Set(['config']),
};
