import type { ResolvedRevision } from '../../revisions/index.js';
import type { Fault } from '../core/faults.js';
import { dataFolderBeside } from '../files/data-folder.js';
import type { Revision } from '../wire/traits/revision.js';
import { shellWord } from './text.js';

/**
 * The place of a gateway's state, made only by the functions below. Each has `HomeFacts`, which others need to know
 * before it is open; the tables of `gateway/homes/` open it by its `kind`.
 */
export type HomePlace = ReturnType<
  typeof fileHome | typeof memoryHome | typeof testHome | typeof upstreamHome | typeof databaseHome
>;

export type HomePlaceOf<Kind extends HomePlace['kind']> = Extract<HomePlace, { readonly kind: Kind }>;

/** Facts about a home before it is open. */
interface HomeFacts {
  readonly kind: string;
  /** The folder for what Keyway itself stores about it; null if nothing is stored. */
  readonly dataFolder: string | null;
  /** The server's configuration files, absolute. */
  readonly documents: readonly string[];
  /** The flags that name it from any folder, in addition to those that were given. */
  readonly flags: readonly string[];
  /** The flags that name it in a hint; empty where a hint needs none. */
  readonly hint: string;
  /** The folder in which a Keyway that serves it listens for commands; null if commands open it themselves. */
  readonly commandFolder: string | null;
  /** The files that commands over stored data work on, or a sentence that says why there are none. */
  readonly stored: StoredFiles | string;
  /** The same for commands that work on a configuration file. */
  readonly document: DocumentFiles | string;
  /** True for a home that has keys when a gateway starts. */
  readonly keepsKeys: boolean;
  /** True if Keyway's own DNS server uses its settings unless told otherwise. */
  readonly resolverByDefault: boolean;
}

/** `configPath` is null for counters without a configuration file. */
interface StoredFiles {
  readonly configPath: string | null;
  readonly dataFolder: string;
  readonly inPlace: boolean;
}

interface DocumentFiles extends StoredFiles {
  readonly configPath: string;
}

interface FileGiven {
  /** By default next to the file. */
  readonly dataDir?: string | null;
  readonly inPlace?: boolean;
  /** The version of the server that reads the file; null for the oldest mount's. */
  readonly serverVersion?: ResolvedRevision | null;
}

/** Returns the home of one server's configuration file, with a data folder. */
export function fileHome(path: string, { dataDir = null, inPlace = false, serverVersion = null }: FileGiven = {}) {
  const dataFolder = dataDir ?? dataFolderBeside(path);
  const document = { configPath: path, dataFolder, inPlace };
  return {
    kind: 'file' as const,
    path,
    inPlace,
    serverVersion,
    dataFolder,
    documents: [path],
    flags: [`--config=${path}`],
    hint: `--config ${shellWord(path)}`,
    commandFolder: dataFolder,
    stored: document,
    document,
    keepsKeys: true,
    resolverByDefault: true,
  } satisfies HomeFacts & Readonly<Record<string, unknown>>;
}

const NOTHING_STORED = 'without a configuration file and --data-dir nothing is stored';

/** Returns the home of a state in memory, with counters on disk if there is a data folder. */
export function memoryHome({ dataDir = null, serverVersion = null }: Omit<FileGiven, 'inPlace'> = {}) {
  return {
    kind: 'memory' as const,
    serverVersion,
    dataFolder: dataDir,
    documents: [],
    flags: ['--no-config'],
    hint: '',
    commandFolder: dataDir,
    stored: dataDir === null ? NOTHING_STORED : { configPath: null, dataFolder: dataDir, inPlace: false },
    document:
      dataDir === null ? NOTHING_STORED : 'there is no configuration file: "keyway counters export" has all there is',
    keepsKeys: false,
    resolverByDefault: true,
  } satisfies HomeFacts & Readonly<Record<string, unknown>>;
}

interface TestGiven {
  /** The file of its initial state, or that state as the bytes of such a file; null without one. */
  readonly path: string | null;
  readonly state: Buffer | null;
  readonly fault: Fault;
}

/** Returns the home of a state for the tests of a client, which can have faults; always in memory. */
export function testHome(given: TestGiven) {
  return {
    ...given,
    kind: 'test' as const,
    dataFolder: null,
    documents: [],
    flags: ['--no-config'],
    hint: '',
    commandFolder: null,
    stored: NOTHING_STORED,
    document: NOTHING_STORED,
    keepsKeys: true,
    resolverByDefault: false,
  } satisfies HomeFacts & Readonly<Record<string, unknown>>;
}

interface UpstreamGiven {
  /** `http(s)://host:port`. */
  readonly origin: string;
  readonly webpath: string;
  /** The line that it is called as; null to detect it. */
  readonly revision: Revision | null;
  readonly credentials: {
    readonly token: string | null;
    readonly operator: { readonly username: string; readonly password: string } | null;
  };
  /** Certificates (PEM) that are trusted instead of the system's, or the path of their file. */
  readonly ca?: Buffer | string | null;
  readonly dataFolder: string | null;
  readonly servesStale?: boolean;
}

/** Returns the home of a running server. */
export function upstreamHome(given: UpstreamGiven) {
  const { ca = null, servesStale = false, dataFolder, ...server } = given;
  // A running server holds its own keys and counters; Keyway stores only versions of its configuration.
  const stored = `the running server at ${server.origin} has the keys and the counters: back them up there; kept versions of its configuration are shown by "keyway config list"`;
  return {
    ...server,
    kind: 'upstream' as const,
    ca,
    servesStale,
    dataFolder,
    documents: [],
    // The default depends on the folder in which Keyway is started.
    flags: dataFolder === null ? [] : [`--data-dir=${dataFolder}`],
    hint: '',
    commandFolder: dataFolder,
    stored,
    document: stored,
    keepsKeys: true,
    resolverByDefault: false,
  } satisfies HomeFacts & Readonly<Record<string, unknown>>;
}

interface DatabaseGiven {
  /** `postgres://…`. */
  readonly url: string;
  readonly listenUrl?: string;
  /** Milliseconds. */
  readonly stale?: number;
  /** Brings a schema that is missing or older up to date. */
  readonly migrates?: boolean;
}

const IN_DATABASE =
  'the state is in the database: "keyway database export" writes it into a file, docs/database.md says the rest; --config names a file that is meant all the same';

/** Returns the home of a PostgreSQL database that several gateways may share. */
export function databaseHome(given: DatabaseGiven) {
  return {
    ...given,
    kind: 'database' as const,
    dataFolder: null,
    documents: [],
    flags: ['--no-config'],
    hint: '',
    commandFolder: null,
    stored: IN_DATABASE,
    document: IN_DATABASE,
    keepsKeys: true,
    resolverByDefault: true,
  } satisfies HomeFacts & Readonly<Record<string, unknown>>;
}
