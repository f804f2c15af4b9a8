import type { ResolvedRevision } from '../../revisions/index.js';
import type { CallsObserverPort } from '../client/server.js';
import type { Backend } from '../core/backend.js';
import type { ConfigurationObserverPort } from '../core/configuration-observer.js';
import type { FaultText } from '../core/faults.js';
import type { AnnouncedServer, Credentials } from '../core/model.js';
import type { ClockPort, FileSystemPort, LogPort, ProgressPort, RandomPort, ResolverPort } from '../core/ports.js';
import type { AppSettings } from '../northbound/app-options.js';
import type { PanelServer, SubscriptionAddress } from '../northbound/embedded-panel.js';
import type { Mount } from '../northbound/mount.js';
import type { RequestsObserver } from '../northbound/request-observer.js';
import type { HomePlace } from '../settings/home.js';
import type { CreateServer } from '../sockets/followed-connections.js';
import type { Encodable } from '../wire/json/write-json.js';

/** One revision to serve. */
export interface GatewayMount {
  /** `earliest`, `dns`, `current`, or a server package version such as `0.2.31`, which the status then reports. */
  readonly revision: string;
  /** Default: the listener's. */
  readonly webpath?: string;
  /** A panel build to serve instead of the embedded one. */
  readonly panelDir?: string;
  /** The end of the mount, in milliseconds since the epoch: its answers say so. Default never. */
  readonly sunset?: number;
}

/** A running server to stand in front of. */
export interface GatewayUpstream {
  /** `http(s)://host:port/webpath`. */
  readonly url: string;
  /** The line as which it is called; default what its version says. */
  readonly revision?: string;
  readonly token?: string;
  /** Its operator, for lines that have sessions alone. */
  readonly username?: string;
  readonly password?: string;
  /** Certificates (PEM) that are trusted instead of the system's. */
  readonly ca?: Buffer;
}

/** Members that count instead of what the state says; null and absent ones count for nothing. */
export type Overrides<T> = { readonly [Name in keyof T]?: T[Name] | null };

/** The options of `createGateway`. Everything but the mounts has a default. */
export interface GatewayOptions extends Partial<AppSettings> {
  /** At least one. Two that would answer the same paths are an error that names both. */
  readonly mounts: readonly GatewayMount[];
  /** The server's configuration file; absent for the run-time-only mode (protocol: "Status and configuration"). */
  readonly configPath?: string;
  /** The running server that holds the state instead; there is no configuration file then. */
  readonly upstream?: GatewayUpstream;
  /** An open home of the state instead; file and data folder then count for nothing. */
  readonly backend?: Backend;
  /** The PostgreSQL database where the state lives instead. */
  readonly database?: DatabaseOptions;
  /** The folder of kept versions; default `<file name>.keyway/` beside the configuration file, none in front of a running server. */
  readonly dataDir?: string;
  /** Milliseconds between two writes of the counters, 0 for none; default 400. */
  readonly countersWriteMilliseconds?: number;
  /** Overrides what the file says of the listener, member by member. */
  readonly listener?: Overrides<Credentials & { readonly webpath: string }>;
  /** Overrides what clients are told, member by member; host and port default to the file's `listen`. */
  readonly announced?: Overrides<AnnouncedServer>;
  readonly panelDir?: string;
  /** Further servers that the embedded panel may speak to, by API roots such as `https://host:9090/panel/api`. */
  readonly panelServers?: readonly PanelServer[];
  /** Keyway's own version, which the embedded panel shows; default none. */
  readonly ownVersion?: string;
  /** The address that serves subscriptions alone, for the URLs that the embedded panel hands out; default the API's own. */
  readonly subscriptions?: SubscriptionAddress | null;
  /**
   * The listeners that answer subscriptions by their tokens: true for the API's, too, false for none; default, and null, for the
   * one for subscriptions alone.
   */
  readonly subscriptionTokens?: boolean | null;
  /** Keyway's own interface beside every mount, at `keyway/v1`; default true. */
  readonly ownApi?: boolean;
  /** The URL that every event is sent to, and the secret that signs it, as `whsec_…`; default none. */
  readonly webhook?: string | null;
  readonly webhookSecret?: string | null;
  readonly inPlace?: boolean;
  /** In front of a server: lists are what was last known while it is away; default false. */
  readonly serveStale?: boolean;
  /** The version of the server that reads the file; default the oldest mount's. */
  readonly serverVersion?: string;
  /** Addresses or networks of proxies whose `X-Forwarded-For` names the caller; `unix` for those on a Unix socket. */
  readonly trustProxy?: readonly string[];
  /** Makes the HTTP server that listens, such as one with TLS; default a plain one. */
  readonly createServer?: CreateServer;
  /** Milliseconds between two looks at the file for edits, besides watching it; default 500. */
  readonly pollMilliseconds?: number;
  /** Tells whether a mount that its own rule leaves open refuses everyone all the same; default never. */
  readonly refusesOpen?: (
    mount: Mount,
    gateway: { readonly mounts: readonly Mount[]; readonly credentials: Credentials },
  ) => boolean;
  readonly resolver?: ResolverPort;
  /** A state in memory and faults on demand, for the tests of a client; refused beside anything that lasts. */
  readonly test?: TestOptions;
  /** Told of answers, logins and what happens to the file; for metrics. */
  readonly observer?: GatewayObserver;
  readonly clock?: ClockPort;
  readonly random?: RandomPort;
  readonly fileSystem?: FileSystemPort;
  readonly log?: LogPort;
}

/** The state and the faults of a gateway for tests. */
export interface TestOptions {
  /** The state to begin in; default no keys, and no configuration. */
  readonly state?: TestState;
  /** A fault from the start on; default none. */
  readonly fault?: FaultText;
}

export interface TestState {
  /** A server's configuration in either layout: an object (`mode` may be left out), or the text of its file. Without one the state is run-time-only. */
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
  /** Sets what goes wrong from now on. Throws an `Error` whose message is for people where the text is none. */
  fault(fault: FaultText): void;
  /** Replaces configuration and counters at once, as an edit of the file does; resolves when that is live. */
  replaceState(state: TestState): Promise<void>;
}

/** A mount whose revision is found. */
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

/** The options of `createGateway` with revisions and home found, and every port given. */
export interface ComposeOptions extends Omit<GatewayOptions, 'mounts' | keyof HomeOptions | keyof Ports>, Ports {
  readonly mounts: readonly ResolvedMount[];
  readonly home: HomePlace;
  /** True for a resolver here that goes by the DNS settings of a running server; default false. */
  readonly resolvesForUpstream?: boolean;
  /** True for a process that ends with one command: what its file does not take is not made. Default false. */
  readonly givesUpUnsaved?: boolean;
  /** Shown while a person waits for the first list of a running server. */
  readonly progress?: ProgressPort;
}

/** A state in PostgreSQL that several gateways may share. */
export interface DatabaseOptions {
  /** `postgres://…`. */
  readonly url: string;
  /** Another address to listen for changes at, past a connection pooler; default the same. */
  readonly listenUrl?: string;
  /** Milliseconds for which reads go on while the database is away; default 60 s. */
  readonly stale?: number;
  /** Brings a schema that is missing or older up to date; default true. */
  readonly migrates?: boolean;
}

/** An observer of a gateway's doings, told while they happen. */
export interface GatewayObserver {
  readonly requests: RequestsObserver;
  readonly configuration: ConfigurationObserverPort;
  /** Calls of a running server. */
  readonly calls?: CallsObserverPort;
  /** Statements of a shared database, each with its milliseconds. */
  readonly database?: (operation: string, milliseconds: number) => void;
}

/** The log where none is given. */
export const silent: LogPort = { debug() {}, info() {}, warn() {}, error() {} };
