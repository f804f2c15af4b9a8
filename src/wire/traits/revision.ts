import type { Capability } from '../operations.js';
import type { ApiRoot } from './api-root.js';
import type { AuthScheme } from './auth.js';
import type { DnsForm } from './dns-form.js';
import type { FileReading } from './file-reading.js';
import type { MissingFileRule } from './missing-file.js';
import type { OnlineRule } from './online.js';
import type { RuleForm } from './rule-form.js';
import type { ShareQueryRule } from './share-link.js';
import type { SnapshotForm } from './snapshot.js';

/** An API shape as one record of traits (design: "Hub and spokes"). Nobody asks which one it is, only for a trait. */
export interface Revision {
  /** `earliest`, `dns`, `current`, or the first server package version of the line. */
  readonly id: string;
  /** First and last server package version that speak it; null where the line goes on. */
  readonly from: string;
  readonly to: string | null;
  /** The version that the status reports unless another is asked for: the last known of the line. */
  readonly reportedVersion: string;
  /** The server package version whose recorded answers are played in the tests, or null. */
  readonly recordedFrom: string | null;
  readonly root: ApiRoot;
  readonly auth: AuthScheme;
  readonly snapshot: SnapshotForm;
  readonly online: OnlineRule;
  readonly shareQuery: ShareQueryRule;
  readonly ruleForm: RuleForm;
  readonly dnsForm: DnsForm;
  readonly missingFile: MissingFileRule;
  /** What the line's own servers read of a configuration file; Keyway serves any file in any revision. */
  readonly fileReading: FileReading;
  readonly capabilities: ReadonlySet<Capability>;
}
