import { atServerRoot } from '../src/wire/api-root.js';
import { staticToken } from '../src/wire/auth.js';
import { dnsOfFourMembers } from '../src/wire/dns-form.js';
import { rootMembers } from '../src/wire/file-reading.js';
import { indexForAnyMissingFile } from '../src/wire/missing-file.js';
import { onlineWithCounters } from '../src/wire/online.js';
import type { Revision } from '../src/wire/revision.js';
import { ruleWithProtocol } from '../src/wire/rule-form.js';
import { configuredQuery } from '../src/wire/share-link.js';
import { snapshotWithName } from '../src/wire/snapshot.js';

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
