import type { ResolvedRevision } from '../../revisions/index.js';
import type { CallsObserverPort } from '../client/server.js';
import type { Backend, Problem, ProblemKinds } from '../core/backend.js';
import type { ConfigurationObserverPort } from '../core/configuration-observer.js';
import type { FaultText } from '../core/faults.js';
import type { AskedKeys } from '../core/keys/types.js';
import type { AnnouncedServer, Credentials } from '../core/model.js';
import type { ClockPort, FileSystemPort, LogPort, ProgressPort, RandomPort, ResolverPort } from '../core/ports.js';
import type { AppSettings } from '../northbound/app-options.js';
import type { PanelServer, SubscriptionAddress } from '../northbound/embedded-panel.js';
import type { Mount } from '../northbound/mount.js';
import type { RequestsObserver } from '../northbound/request-observer.js';
import type { HomePlace } from '../settings/home.js';
import type { CreateServer } from '../sockets/followed-connections.js';
import type { Encodable } from '../wire/json/write-json.js';
import type { FileServer } from '../wire/traits/server-file.js';

/** One revision to serve. */
export interface GatewayMount {
  /** `earliest`, `dns`, `current`, or a server package version such as `0.2.31`, which the status then reports. */
  readonly revision: string;
  /** Default: the listener's web path. */
  readonly webpath?: string;
  /** A panel build to serve instead of the embedded one. */
  readonly panelDir?: string;
  /** The end of the mount, in milliseconds since the epoch, which its answers announce. Default: none. */
  readonly sunset?: number;
}

/** A running server that the gateway is put in front of. */
export interface GatewayUpstream {
  /** `http(s)://host:port/webpath`. */
  readonly url: string;
  /** The line that it is called as; by default what its version says. */
  readonly revision?: string;
  readonly token?: string;
  /** The name of its operator, for lines that have only sessions. */
  readonly username?: string;
  readonly password?: string;
  /** Certificates (PEM) that are trusted instead of the system's. */
  readonly ca?: Buffer;
}

/** Members that override what the state says; null and absent ones override nothing. */
export type Overrides<T> = { readonly [Name in keyof T]?: T[Name] | null };

/** The options of `createGateway`. Everything but the mounts has a default. */
export interface GatewayOptions extends Partial<AppSettings> {
  /** At least one. Two that would answer the same paths are an error that names both. */
  readonly mounts: readonly GatewayMount[];
  /** The server's configuration file; absent for the run-time-only mode (protocol: "Status and configuration"). */
  readonly configPath?: string;
  /** The running server that holds the state instead; there is no configuration file then. */
  readonly upstream?: GatewayUpstream;
  /** An open home of the state instead; file and data folder are then ignored. */
  readonly backend?: Backend;
  /** The PostgreSQL database where the state lives instead. */
  readonly database?: DatabaseOptions;
  /**
   * The folder of kept versions; default `<file name>.keyway/` next to the configuration file, none in front of a
   * running server.
   */
  readonly dataDir?: string;
  /** Milliseconds between two writes of the counters, 0 for no pause; default 400. */
  readonly countersWriteMilliseconds?: number;
  /** Overrides the listener of the file, member by member. */
  readonly listener?: Overrides<Credentials & { readonly webpath: string }>;
  /** Overrides what clients are told, member by member; host and port default to the file's `listen`. */
  readonly announced?: Overrides<AnnouncedServer>;
  readonly panelDir?: string;
  /** Further servers that the embedded panel may talk to, by API roots such as `https://host:9090/panel/api`. */
  readonly panelServers?: readonly PanelServer[];
  /** Keyway's own version, shown by the embedded panel; default none. */
  readonly ownVersion?: string;
  /** The address that serves only subscriptions, for the URLs that the embedded panel shows; default the API's own. */
  readonly subscriptions?: SubscriptionAddress | null;
  /**
   * The listeners that answer subscriptions by their tokens: true includes the API's, false excludes all; by default,
   * and if null, only the one that serves nothing but subscriptions.
   */
  readonly subscriptionTokens?: boolean | null;
  /** Serves Keyway's own interface next to every mount, at `keyway/v1`; default true. */
  readonly ownApi?: boolean;
  /** The URL that every event is sent to, and the secret that signs it, as `whsec_…`; default none. */
  readonly webhook?: string | null;
  readonly webhookSecret?: string | null;
  readonly inPlace?: boolean;
  /** In front of a server: lists show the last known state while it is away; default false. */
  readonly serveStale?: boolean;
  /** The version of the server that reads the file; default the oldest mount's. */
  readonly serverVersion?: string;
  /** Addresses or networks of proxies whose `X-Forwarded-For` names the caller; `unix` for those on a Unix socket. */
  readonly trustProxy?: readonly string[];
  /** Makes the HTTP server that listens, such as one with TLS; default a plain one. */
  readonly createServer?: CreateServer;
  /** Milliseconds between two checks of the file for edits, in addition to watching it; default 500. */
  readonly pollMilliseconds?: number;
  /** Tells whether a mount that its own rule leaves open must still refuse everyone; default never. */
  readonly refusesOpen?: (
    mount: Mount,
    gateway: { readonly mounts: readonly Mount[]; readonly credentials: Credentials },
  ) => boolean;
  readonly resolver?: ResolverPort;
  /** A state in memory and faults on demand, for the tests of a client; refused together with anything that lasts. */
  readonly test?: TestOptions;
  /** Observes answers, logins and what happens to the file; for metrics. */
  readonly observer?: GatewayObserver;
  readonly clock?: ClockPort;
  readonly random?: RandomPort;
  readonly fileSystem?: FileSystemPort;
  readonly log?: LogPort;
}

/** The state and the faults of a gateway for tests. */
export interface TestOptions {
  /** The initial state; by default no keys, and no configuration. */
  readonly state?: TestState;
  /** The initial fault; by default none. */
  readonly fault?: FaultText;
}

export interface TestState {
  /**
   * A server's configuration in either layout: an object (`mode` may be left out), or the text of its file. Without one
   * the state is run-time-only.
   */
  readonly config?: string | { readonly [member: string]: Encodable };
  /** The counters of the configuration's keys. */
  readonly counters?: readonly {
    readonly access_key: string;
    readonly bytes_up: number | bigint;
    readonly bytes_down: number | bigint;
    readonly connections: number;
  }[];
}

/** The faults and the state of a running gateway for tests. */
export interface TestControls {
  /** Sets the fault from now on. Throws an `Error` for the user if the text names no fault. */
  fault(fault: FaultText): void;
  /** Replaces configuration and counters at once, as an edit of the file does; resolves once that is live. */
  replaceState(state: TestState): Promise<void>;
}

/** A mount with its resolved revision. */
export type ResolvedMount = Omit<GatewayMount, 'revision'> & Pick<ResolvedRevision, 'revision' | 'version'>;

/** The outside world of a gateway. */
interface Ports {
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly fileSystem: FileSystemPort;
  readonly log: LogPort;
}

/** Options that say where the state lives. */
type HomeOptions = Pick<
  GatewayOptions,
  'test' | 'configPath' | 'upstream' | 'backend' | 'database' | 'dataDir' | 'inPlace' | 'serveStale' | 'serverVersion'
>;

/** The options of `createGateway` with resolved revisions and home, and every port given. */
export interface ComposeOptions extends Omit<GatewayOptions, 'mounts' | keyof HomeOptions | keyof Ports>, Ports {
  readonly mounts: readonly ResolvedMount[];
  readonly home: HomePlace;
  /** True for a resolver here that uses the DNS settings of a running server; default false. */
  readonly resolvesForUpstream?: boolean;
  /** The servers that may read the file, if no version is given for it; by default those of the mounts. */
  readonly fileServers?: readonly FileServer[];
  /** True for a process that ends with one command: a change that the file does not take is not made. Default false. */
  readonly givesUpUnsaved?: boolean;
  /** The keys of a database that such a process is for; null, by default, for all. */
  readonly asked?: AskedKeys | null;
  /** Shown while a user waits for the first list of a running server. */
  readonly progress?: ProgressPort;
}

/** A state in PostgreSQL that several gateways may share. */
export interface DatabaseOptions {
  /** `postgres://…`. */
  readonly url: string;
  /** Another address to listen for changes at, past a connection pooler; by default the same. */
  readonly listenUrl?: string;
  /** Milliseconds for which reads continue while the database is away; default 60 s. */
  readonly stale?: number;
  /** Brings a schema that is missing or older up to date; default true. */
  readonly migrates?: boolean;
}

/** Observes a gateway's events as they happen. */
export interface GatewayObserver {
  readonly requests: RequestsObserver;
  readonly configuration: ConfigurationObserverPort;
  /** Observes calls to a running server. */
  readonly calls?: CallsObserverPort;
  /** Observes statements of a shared database, each with its milliseconds. */
  readonly database?: (operation: string, milliseconds: number) => void;
}

/** The log if none is given. */
export const silent: LogPort = { debug() {}, info() {}, warn() {}, error() {} };

/** The deliveries of the webhook, for health and metrics. */
export interface WatchedWebhook {
  readonly problemKinds: ProblemKinds;
  problems(): readonly Problem[];
  /** Counts since the start, and for how many milliseconds an event has been waiting that is not accepted. */
  status(): {
    readonly accepted: number;
    readonly failed: number;
    readonly abandoned: number;
    readonly failing: { readonly since: number } | null;
  };
}
