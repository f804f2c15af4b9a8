import { underBase } from '../src/wire/api-root.js';
import { sessionOrStaticToken } from '../src/wire/auth.js';
import { dnsOfFourMembers } from '../src/wire/dns-form.js';
import { rootMembers } from '../src/wire/file-reading.js';
import { indexForAnyMissingFile } from '../src/wire/missing-file.js';
import { onlineWhenConnected } from '../src/wire/online.js';
import type { Revision } from '../src/wire/revision.js';
import { ruleWithProtocol } from '../src/wire/rule-form.js';
import { udpQueryWithOwnDns } from '../src/wire/share-link.js';
import { snapshotWithNameAndLastSeen } from '../src/wire/snapshot.js';

/** The current revision of the spec: audit, bulk keys and outbound rules, without the DNS endpoints. */
export const current: Revision = {
  id: 'current',
  from: '0.2.88',
  to: '0.3.6',
  reportedVersion: '0.3.6',
  recordedFrom: '0.2.96',
  root: underBase,
  auth: sessionOrStaticToken,
  snapshot: snapshotWithNameAndLastSeen,
  online: onlineWhenConnected,
  shareQuery: udpQueryWithOwnDns,
  ruleForm: ruleWithProtocol,
  dnsForm: dnsOfFourMembers,
  missingFile: indexForAnyMissingFile,
  fileReading: rootMembers,
  capabilities: new Set(['config', 'login', 'panel', 'audit', 'bulk', 'rules']),
};
