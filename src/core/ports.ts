import type {
  DnsConfig,
  DnsExplanation,
  DnsFigures,
  DnsLogEntry,
  DnsQuery,
  ListUpdate,
  OutboundSettings,
  ResolverState,
} from './model.js';

/** Time. `now` is milliseconds since the epoch; `monotonic` is milliseconds that never go back. */
export interface ClockPort {
  now(): number;
  monotonic(): number;
}

/** Randomness, so that fixtures can make it deterministic. */
export interface RandomPort {
  bytes(count: number): Buffer;
  /** A random UUID in its textual form (RFC 9562). */
  uuid(): string;
}

/** The log. Members named here never hold a secret; keys appear as the first 8 hex digits of their SHA-256. */
export interface LogPort {
  debug(fields: Readonly<Record<string, unknown>>, message: string): void;
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** Tells somebody who waits how far long work is. */
export interface ProgressPort {
  /** Shows what is under way and, where it is known, the share of it that is done, from 0 to 1. */
  show(what: string, share?: number): void;
  /** Takes away what is shown. */
  clear(): void;
}

/** The answer of `stat`, following symbolic links. Times are nanoseconds since the epoch. */
export interface FileStat {
  readonly dev: bigint;
  readonly ino: bigint;
  /** Its names: hard links. */
  readonly links: number;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  /** Permission bits only. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly kind: 'file' | 'folder' | 'other';
}

/** A regular file that is open for reading, piece by piece. */
export interface OpenFile {
  /** Bytes that it had when it was opened. */
  readonly size: number;
  /** The file as it was when it was opened; a network file system has asked its server for it. */
  readonly stat: FileStat;
  /**
   * Reads into `target` from byte `at` of the file on. Resolves to how many bytes that were; 0 at the end of the file.
   */
  read(target: Buffer, at: number): Promise<number>;
  close(): Promise<void>;
}

/** Mode and owner of a new file, whatever the umask. */
export interface FileRights extends Pick<FileStat, 'mode'> {
  /** Default: this process's. */
  readonly owner?: Pick<FileStat, 'uid' | 'gid'>;
}

/**
 * Whose a new thing is that root makes: this process's, that of the folder in which it is, or another's. It is given to
 * whom the folder is root's, or his own: nobody else gets a file in a place that is not his.
 */
export type NewOwner = 'process' | 'folder' | Pick<FileStat, 'uid' | 'gid'>;

/**
 * The file system as the gateway uses it. Every call rejects with a Node `ErrnoException` (its `code` is what callers
 * look at). Nothing is durable before `sync` (a file's content) and `syncFolder` (its directory entries).
 */
export interface FileSystemPort {
  /**
   * Reads a whole regular file. Rejects with EFBIG when it has more than `limit` bytes, EISDIR for a folder, EINVAL for
   * anything else, so that it never waits for the writer of a pipe.
   */
  read(path: string, limit: number): Promise<Buffer>;
  /** Opens a regular file of any size; rejects as `read` does. */
  open(path: string): Promise<OpenFile>;
  /** Tells whether the file holds exactly these bytes; cheaper than reading it, above all in memory. */
  matches(path: string, content: Buffer): Promise<boolean>;
  stat(path: string): Promise<FileStat>;
  /** The user as whom this process makes files; null where the system does not tell. */
  user(): Promise<number | null>;
  /** The path with every symbolic link resolved. */
  realPath(path: string): Promise<string>;
  /** Creates a new file with these bytes; EEXIST when there is one. The mode is applied exactly, whatever the umask. */
  create(path: string, content: Buffer, mode: number, owner?: NewOwner): Promise<void>;
  /**
   * Creates a file as `create` does and syncs it; resolves to the stat that it was written with. Calls `meanwhile` once the
   * sync is under way, and rejects as soon as either does.
   */
  createSynced(path: string, content: Buffer, rights: FileRights, meanwhile: () => Promise<void>): Promise<FileStat>;
  /**
   * Truncates an existing file and writes these bytes into it, keeping the inode; resolves to the stat of the file
   * written.
   */
  overwrite(path: string, content: Buffer): Promise<FileStat>;
  /** Adds these bytes at the end of an existing file. After a rejection some of them may be there. */
  append(path: string, content: Buffer): Promise<void>;
  sync(path: string): Promise<void>;
  /** Syncs the folder once `after` has resolved, and opens it at once. Rejects if `after` does. */
  syncFolder(path: string, after?: Promise<unknown>): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Gives a file a further name. Rejects where the file system has no such thing, or the file is another user's. */
  hardLink(path: string, name: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Does not follow a symbolic link. */
  setOwner(path: string, uid: number, gid: number): Promise<void>;
  /** Creates a folder and its parents; no error when it exists. */
  makeFolder(path: string, mode: number, owner?: NewOwner): Promise<void>;
  list(path: string): Promise<readonly string[]>;
  /** Rejects when the file could not be opened for writing (EACCES, EROFS, …); changes nothing. */
  checkWritable(path: string): Promise<void>;
  /**
   * Calls back when anything in the folder may have changed; returns what stops it. May miss events: callers also poll.
   */
  watch(folder: string, onChange: () => void): () => void;
}

/** The resolver behind the DNS endpoints; it may be one that resolves nothing. */
export interface ResolverPort {
  /** Takes new settings; called at start and after every change, also of the outbound settings. */
  configure(dns: DnsConfig, outbound: OutboundSettings | null): void;
  /** The query log, oldest first, at most 1,000 entries. */
  queries(): readonly DnsQuery[];
  /** Starts a blocklist refresh in the background. */
  refreshBlocklists(): void;
  figures(): DnsFigures;
  state(): ResolverState;
  /** Returns the newest entries of the query log whose name or client contains the text, newest first. */
  log(limit: number, text: string): readonly DnsLogEntry[];
  /** Forgets the query log and the figures. */
  clearLog(): void;
  /** Fetches all lists again; resolves when that is over. */
  updateLists(): Promise<readonly ListUpdate[]>;
  /** Tells what would become of a name. */
  explain(name: string): DnsExplanation;
}

/** A message for the service manager: `alive` is the sign of life that keeps its watchdog quiet. */
export type ServiceState = 'ready' | 'reloading' | 'stopping' | 'alive';

/** The service manager that started this process and wants to hear from it (sd_notify(3)). */
export interface ServiceManagerPort {
  /** Milliseconds within which it expects a sign of life; null when it expects none. */
  readonly watchdog: number | null;
  /** Resolves when the manager has the message. `status` is one line for people. Rejects with an `Error` for people. */
  tell(state: ServiceState, status?: string): Promise<void>;
}
