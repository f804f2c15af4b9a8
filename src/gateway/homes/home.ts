import type { UpstreamServer } from '../../client/server.js';
import type { Backend, ProblemKinds } from '../../core/backend.js';
import type { Faults } from '../../core/faults.js';
import type { DnsConfig, ListenerConfig } from '../../core/model.js';
import type { DatabaseBackend } from '../../homes/database/backend.js';
import type { LocalBackend } from '../../homes/file/backend.js';
import type { UpstreamBackend } from '../../homes/upstream/backend.js';
import type { Family } from '../../ops/family.js';
import type { Revision } from '../../wire/traits/revision.js';

/** An open home of a gateway's state: the backend, and what differs between homes, so that nobody asks which one it is. */
export interface Home {
  readonly backend: Backend;
  /** True for reports that outlive the process. */
  readonly keepsReports: boolean;
  /** The address that the state gives the API; undefined where it gives none, or where several gateways share it. */
  bind(): string | undefined;
  /** Why the API is not served unless an address is given; null where it is. */
  idleReason(): string | null;
  /** Keeps the host that clients are told where the state names none, and resolves to the path of what has it; null where it cannot be kept. */
  readonly keepHost: ((host: string) => Promise<string>) | null;
  /** The settings of the server that may run beside Keyway over the same state; null without such a server. */
  serverBeside(): { readonly listener: ListenerConfig; readonly dns: DnsConfig } | null;
  /** Keeps sessions for as long as the credentials are these. */
  holdSessions(credentials: string): void;
  /** The name by which gateways over the same state are known to be so; null where it has none. */
  identity(): string | null;
  /** The problems that its backend can have. */
  readonly problemKinds: ProblemKinds;
  /** Metrics of its own. */
  metrics(): readonly Family[];
  /** Says in the log what is in the way of serving it, and what of it mounts of these lines cannot show. */
  report(served: readonly Revision[]): Promise<void>;
  /** The parts of a home for tests; null for every other. */
  readonly test: TestHome | null;
  /** The home itself, for those who embed a gateway and know where its state lives. */
  readonly parts: Partial<HomeParts>;
}

/** The holder of the state; null for the others. */
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
  /** Replaces configuration and counters, as an edit of the file does. Rejects with an `Error` for people. */
  replaceState(bytes: Buffer): Promise<void>;
}

/** A running server, and the state that it holds. */
export interface OpenUpstream {
  readonly server: UpstreamServer;
  readonly backend: UpstreamBackend;
}

/** The home of a backend of which nothing more is known; others are this with their own members. */
export function homeOver(backend: Backend): Home {
  return {
    backend,
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
