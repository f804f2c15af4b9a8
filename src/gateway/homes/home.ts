import type { UpstreamServer } from '../../client/server.js';
import type { Backend, ProblemKinds } from '../../core/backend.js';
import type { Faults } from '../../core/faults.js';
import type { DnsConfig, ListenerConfig } from '../../core/model.js';
import type { DatabaseBackend } from '../../homes/database/backend.js';
import type { LocalBackend } from '../../homes/file/backend.js';
import type { UpstreamBackend } from '../../homes/upstream/backend.js';
import type { Family } from '../../ops/family.js';
import type { Revision } from '../../wire/traits/revision.js';

/**
 * An open home of a gateway's state: the backend and everything that differs between homes, so that no code asks which
 * home it has.
 */
export interface Home {
  readonly backend: Backend;
  /** False for a command's few keys: what concerns all keys is then left to other gateways. */
  readonly hasAllKeys: boolean;
  /** True if reports outlive the process. */
  readonly keepsReports: boolean;
  /** Returns the address that the state gives the API; undefined for none, or if gateways share the state. */
  bind(): string | undefined;
  /** Returns why the API is not served unless an address is given; null if it is served. */
  idleReason(): string | null;
  /**
   * Stores the host that clients are told if the state names none, and resolves to the path of the file that has it;
   * null if it cannot be stored.
   */
  readonly keepHost: ((host: string) => Promise<string>) | null;
  /** Returns the settings of the server that may run next to Keyway over the same state; null without such a server. */
  serverBeside(): { readonly listener: ListenerConfig; readonly dns: DnsConfig } | null;
  /** Keeps sessions as long as the credentials are these. */
  holdSessions(credentials: string): void;
  /** Returns the name that gateways over one state have in common; null if it has none. */
  identity(): string | null;
  /** The problems that its backend can have. */
  readonly problemKinds: ProblemKinds;
  /** Metrics of its own. */
  metrics(): readonly Family[];
  /** Logs what hinders serving this state, and what of it mounts of these lines cannot show. */
  report(served: readonly Revision[]): Promise<void>;
  /** The parts of a home for tests; null in any other home. */
  readonly test: TestHome | null;
  /** The parts of this home, for programs that embed a gateway and know where its state lives. */
  readonly parts: Partial<HomeParts>;
}

/** The holder of the state; null for the other homes. */
export interface HomeParts {
  /** A configuration file and a data folder here, or memory. */
  readonly local: LocalBackend | null;
  /** A running server. */
  readonly upstream: OpenUpstream | null;
  readonly database: DatabaseBackend | null;
}

/** The parts of a home for tests: the only one that has faults. */
export interface TestHome {
  readonly faults: Faults;
  /** Replaces configuration and counters, as an edit of the file does. Rejects with an `Error` for the user. */
  replaceState(bytes: Buffer): Promise<void>;
}

/** A running server, and the state that it holds. */
export interface OpenUpstream {
  readonly server: UpstreamServer;
  readonly backend: UpstreamBackend;
}

/** Makes a plain home of a backend; the other homes override its members. */
export function homeOver(backend: Backend): Home {
  return {
    backend,
    hasAllKeys: true,
    keepsReports: true,
    bind: () => backend.settings().listener?.bind,
    idleReason: () => null,
    keepHost: null,
    serverBeside: () => null,
    holdSessions: () => undefined,
    identity: () => null,
    problemKinds: {},
    metrics: () => [],
    report: async () => undefined,
    test: null,
    parts: {},
  };
}
