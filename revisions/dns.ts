import { underBase } from '../src/wire/api-root.js';
import { sessionToken } from '../src/wire/auth.js';
import { dnsOfFourMembers } from '../src/wire/dns-form.js';
import { rootMembers } from '../src/wire/file-reading.js';
import { indexForAnyMissingFile } from '../src/wire/missing-file.js';
import { onlineWithCounters } from '../src/wire/online.js';
import type { Revision } from '../src/wire/revision.js';
import { ruleWithProtocol } from '../src/wire/rule-form.js';
import { configuredQueryWithOwnDns } from '../src/wire/share-link.js';
import { snapshotWithName } from '../src/wire/snapshot.js';

/** The DNS revision of the spec: DNS endpoints, and `owndns` in share links. */
export const dns: Revision = {
  id: 'dns',
  from: '0.2.45',
  to: '0.2.50',
  reportedVersion: '0.2.50',
  recordedFrom: '0.2.48',
  root: underBase,
  auth: sessionToken,
  snapshot: snapshotWithName,
  online: onlineWithCounters,
  shareQuery: configuredQueryWithOwnDns,
  ruleForm: ruleWithProtocol,
  dnsForm: dnsOfFourMembers,
  missingFile: indexForAnyMissingFile,
  fileReading: rootMembers,
  capabilities: new Set(['config', 'login', 'panel', 'dns']),
};
