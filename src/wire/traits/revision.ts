import type { ErrorTable } from '../errors.js';
import type { ApiRoot } from './api-root.js';
import type { AuthScheme } from './auth.js';
import type { DnsEngineForm } from './dns-engine-form.js';
import type { DnsForm } from './dns-form.js';
import type { EarlierBuild } from './earlier-builds.js';
import type { MissingFileRule } from './missing-file.js';
import type { OnlineRule } from './online.js';
import type { OvernetForm } from './overnet-form.js';
import type { RuleForm } from './rule-form.js';
import type { ServerFile } from './server-file.js';
import type { ShareQueryRule } from './share-link.js';
import type { SnapshotForm } from './snapshot.js';
import type { StatusForm } from './status-form.js';
import type { Storing } from './storing.js';
import type { SubscribeForm } from './subscribe-form.js';

/** Whom an operation is for: everyone, or callers with a credential. */
export type Access = 'protected' | 'open';

/**
 * The parts that a revision may lack. Each carries the traits that only its operations ask for, so that a record names
 * no strategy that it never serves.
 */
export interface Capabilities {
  /** Reading and replacing the configuration file. */
  readonly config?: true;
  readonly login?: true;
  readonly panel?: { readonly missingFile: MissingFileRule };
  readonly dns?: { readonly form: DnsForm };
  /** `access`: whom the audit operations are for. */
  readonly audit?: { readonly access: Access };
  /** Making many keys by one request. */
  readonly bulk?: true;
  readonly rules?: { readonly form: RuleForm };
  /** Links of a key for people, and codes of them. */
  readonly share?: true;
  readonly qr?: true;
  /** The newer DNS endpoints: settings as a whole, counts, log, lists. */
  readonly dnsEngine?: { readonly form: DnsEngineForm };
  readonly overnet?: { readonly form: OvernetForm };
}

export type Capability = keyof Capabilities;

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
  readonly subscribe: SubscribeForm;
  readonly status: StatusForm;
  /** True where pages of any origin may call (protocol: "Addressing"). */
  readonly anyOrigin: boolean;
  /** The status and text of each failure. */
  readonly errors: ErrorTable;
  /** The way in which the line's own servers read their configuration file; Keyway serves any file in any revision. */
  readonly file: ServerFile;
  /** The way in which the line's own servers store what their API changes. */
  readonly storing: Storing;
  /** False where the line's own servers ask for a limit at the handshake alone, so that sessions that are open go on past it. */
  readonly endsSessionsOverLimit: boolean;
  /** True where `connections` of the line's own servers are live sessions; false where they count handshakes and never fall. */
  readonly connectionsFall: boolean;
  /** Builds that report the line's version and lack some of it, the earliest first; left out where none are known. */
  readonly earlierBuilds?: readonly EarlierBuild[];
  /** True where an array in a body may stand for an object, its elements in the order of the members. */
  readonly takesArrays?: boolean;
  readonly capabilities: Capabilities;
}

/** The capabilities of a revision by name, in the order of its record. */
export function capabilitiesOf({ capabilities }: Pick<Revision, 'capabilities'>): readonly Capability[] {
  // Object.keys knows no more than string; the type lists exactly these names.
  return Object.keys(capabilities) as readonly Capability[];
}

/** The traits of a capability, for what only a revision that has it serves. Throws an `Error` where it has not. */
export function traitsOf<C extends Capability>(
  { id, capabilities }: Pick<Revision, 'id' | 'capabilities'>,
  capability: C,
): NonNullable<Capabilities[C]> {
  const traits = capabilities[capability];
  if (traits === undefined) throw new Error(`revision ${id} has no ${capability}`);
  return traits;
}
