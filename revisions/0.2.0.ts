import { atServerRoot } from '../src/wire/api-root.js';
import { staticToken } from '../src/wire/auth.js';
import { dnsOfFourMembers } from '../src/wire/dns-form.js';
import { rootMembers } from '../src/wire/file-reading.js';
import { indexForAnyMissingFile } from '../src/wire/missing-file.js';
import { onlineWithCounters } from '../src/wire/online.js';
import type { Revision } from '../src/wire/revision.js';
import { ruleWithProtocol } from '../src/wire/rule-form.js';
import { noQuery } from '../src/wire/share-link.js';
import { snapshotWithoutName } from '../src/wire/snapshot.js';

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
  ruleForm: ruleWithProtocol,
  dnsForm: dnsOfFourMembers,
  missingFile: indexForAnyMissingFile,
  fileReading: rootMembers,
  capabilities: new Set([]),
};
