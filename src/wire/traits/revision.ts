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

/** Who may call an operation: everyone, or callers with a credential. */
export type Access = 'protected' | 'open';

/**
 * The parts that a revision may lack. Each carries the traits that only its operations need, so that a record names no
 * strategy that it never uses.
 */
export interface Capabilities {
  /** Reading and replacing the configuration file. */
  readonly config?: true;
  readonly login?: true;
  readonly panel?: { readonly missingFile: MissingFileRule };
  readonly dns?: { readonly form: DnsForm };
  /** `access`: who may call the audit operations. */
  readonly audit?: { readonly access: Access };
  /** Making many keys with one request. */
  readonly bulk?: true;
  readonly rules?: { readonly form: RuleForm };
  /** Links of a key for users, and QR codes of them. */
  readonly share?: true;
  readonly qr?: true;
  /** The newer DNS endpoints: settings as a whole, counts, log, lists. */
  readonly dnsEngine?: { readonly form: DnsEngineForm };
  readonly overnet?: { readonly form: OvernetForm };
}

export type Capability = keyof Capabilities;

/** An API shape as one record of traits (design: "Hub and spokes"). Code asks for a trait, never for the id. */
export interface Revision {
  /** `earliest`, `dns`, `current`, or the first server package version of the line. */
  readonly id: string;
  /** First and last server package version that speak it; null if the line continues. */
  readonly from: string;
  readonly to: string | null;
  /** The version that the status reports unless another is set: the last known of the line. */
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
  /** True if pages of any origin may call (protocol: "Addressing"). */
  readonly anyOrigin: boolean;
  /** The status and text of each failure. */
  readonly errors: ErrorTable;
  /** How the line's own servers read their configuration file; Keyway serves any file in any revision. */
  readonly file: ServerFile;
  /** How the line's own servers store what their API changes. */
  readonly storing: Storing;
  /** False if the line's own servers check the limit only at the handshake, and open sessions go on past it. */
  readonly endsSessionsOverLimit: boolean;
  /** True if the line's own servers count live sessions in `connections`; false for handshakes, which never fall. */
  readonly connectionsFall: boolean;
  /** Builds that report the line's version and lack part of it, the earliest first; absent if none are known. */
  readonly earlierBuilds?: readonly EarlierBuild[];
  /** True if an array in a body may stand for an object, its elements in the order of the members. */
  readonly takesArrays?: boolean;
  readonly capabilities: Capabilities;
}

/** Lists the capabilities of a revision, in the order of its record. */
export function capabilitiesOf({ capabilities }: Pick<Revision, 'capabilities'>): readonly Capability[] {
  // Object.keys is typed as string; the type lists exactly these names.
  return Object.keys(capabilities) as readonly Capability[];
}

/** Returns the traits of a capability, for code that needs it. Throws an `Error` if the revision lacks it. */
export function traitsOf<C extends Capability>(
  { id, capabilities }: Pick<Revision, 'id' | 'capabilities'>,
  capability: C,
): NonNullable<Capabilities[C]> {
  const traits = capabilities[capability];
  if (traits === undefined) throw new Error(`revision ${id} has no ${capability}`);
  return traits;
}
