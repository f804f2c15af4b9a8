import type { Answer, Caller, Target } from '../client/call.js';
import { findLine, type Lines } from '../client/find-line.js';
import { createListReader } from '../client/list-reader.js';
import { readSnapshot } from '../client/snapshots.js';
import type { AccessKey, KeySnapshot } from '../core/model.js';
import { dataIn, isJsonObject, type JsonObject, type JsonValue } from '../wire/json/json.js';
import { writeJson } from '../wire/json/write-json.js';
import type { Revision } from '../wire/traits/revision.js';
import { hasNames } from '../wire/traits/snapshot.js';

/** Members of a configuration, and of an inbound, that say where and as whom a server stands. */
export const STANDING = ['listen', 'bind_ip', 'api', 'domain', 'tls', 'fallback'];
export const STANDING_INBOUND = ['listen', 'port', 'path', 'webpath', 'token', 'username', 'password_hash'];

export type Keys = ReadonlyMap<string, KeySnapshot>;

/** A server's place and the line that it speaks. */
export interface FoundServer {
  readonly caller: Caller;
  readonly target: Target;
  readonly revision: Revision;
  readonly version: string;
}

export interface FindOptions {
  readonly caller: Caller;
  readonly origin: string;
  readonly webpath: string;
  /** The line that it is said to speak; null to go by its version. */
  readonly revision: Revision | null;
  readonly lines: Lines;
  /** The secret that lets in; null where none is needed or a login is. */
  readonly secret: string | null;
  /** Begins a session at this API root; left out where nobody may. */
  readonly session?: (apiRoot: string) => Promise<string | null>;
}

/** Finds out which line a server speaks. Rejects with an `Error` for people. */
export async function findServer(options: FindOptions): Promise<FoundServer> {
  const { caller, origin, webpath, lines, revision, secret, session } = options;
  const strike = (data: JsonValue) => data;
  const path = webpath.replace(/^\/+|\/+$/g, '');
  const withSession = session === undefined ? {} : { session };
  const found = await findLine({ caller, lines, webpath: path, revision, token: secret, strike, ...withSession });
  if (found.kind === 'none') throw new Error(`no API was found there: ${found.answers.join('; ')}`);
  if (found.kind === 'closed') throw new Error('it does not let in the credential that was tried');
  if (found.revision === null) throw new Error('it reports a version that is of no known line');
  const { api, base } = found.revision.root.paths(path);
  return {
    caller,
    target: { origin, apiRoot: api, base },
    revision: found.revision,
    version: found.status.version,
  };
}

/** A server as a shadow asks it by itself, beside what clients ask. */
export class AskedServer {
  readonly found: FoundServer;
  readonly #authorization: () => Promise<string | null>;

  constructor(found: FoundServer, authorization: () => Promise<string | null>) {
    this.found = found;
    this.#authorization = authorization;
  }

  /** `path` is below the API root. Rejects with `NoAnswer`. */
  async send(method: string, path: string, body?: JsonValue): Promise<Answer> {
    const { caller, target } = this.found;
    const headers = await this.#headers();
    if (body === undefined) return caller.send({ method, path: target.apiRoot + path, headers, body });
    headers.set('content-type', 'application/json');
    return caller.send({ method, path: target.apiRoot + path, headers, body: Buffer.from(writeJson(body)) });
  }

  async #headers(): Promise<Map<string, string>> {
    const authorization = await this.#authorization();
    return new Map(authorization === null ? [] : [['authorization', authorization]]);
  }

  /**
   * Its keys, with their names where its line tells them; one that is as `known` has it is that object. Rejects with an `Error`
   * for people where they cannot be read.
   */
  async keys(known?: Keys): Promise<Keys> {
    const { caller, target, revision } = this.found;
    const reader = new KeyReader(revision, known);
    const path = `${target.apiRoot}/users`;
    const call = { method: 'GET', path, headers: await this.#headers(), body: undefined, take: reader.take };
    const { status } = await caller.send(call);
    if (status !== 200) throw new Error(`GET /users answers ${status}`);
    return reader.end();
  }

  /** Its configuration; null where its line shows none. Rejects with an `Error` for people where it cannot be read. */
  async configuration(): Promise<JsonObject | null> {
    if (this.found.revision.capabilities.config === undefined) return null;
    const { status, body } = await this.send('GET', '/server/config');
    const data = dataIn(body);
    if (status !== 200 || !isJsonObject(data)) throw new Error(`GET /server/config answers ${status}`);
    return data;
  }

  /** The ids of its audit list; none where it has none, or none that can be read. */
  async auditIds(): Promise<ReadonlySet<string>> {
    if (this.found.revision.capabilities.audit === undefined) return new Set();
    const answer = await this.send('GET', '/audit').catch(() => null);
    const data = answer?.status === 200 ? dataIn(answer.body) : [];
    return new Set(Array.isArray(data) ? data.flatMap(idOf) : []);
  }

  /** One key; undefined where it is unknown there. */
  async key(accessKey: string): Promise<AccessKey | undefined> {
    const { status, body } = await this.send('GET', `/users/${encodeURIComponent(accessKey)}`);
    // Lines differ in the status of an unknown key; nothing else is wrong with a key alone.
    if (status === 400 || status === 404) return undefined;
    const data = dataIn(body);
    if (status !== 200 || data === undefined) throw new Error(`GET /users/{key} answers ${status}`);
    return readSnapshot(this.found.revision, data);
  }
}

/** Returns the id of an audit entry. */
export function idOf(entry: JsonValue): readonly string[] {
  return isJsonObject(entry) && typeof entry.id === 'string' ? [entry.id] : [];
}

/** Bytes of a list that are read at once: the reader has room for twice as many. */
const PIECE = 64 * 1024;

/** Reads the keys of a list while it comes, without their counters. */
export class KeyReader {
  readonly #list: ReturnType<typeof createListReader>;

  constructor(line: Revision, known?: Keys) {
    this.#list = createListReader(line, { known: (accessKey) => known?.get(accessKey), countersToo: false });
  }

  readonly take = (piece: Buffer): Promise<boolean> => this.#list.take(piece);

  /** Rejects with an `Error` for people where it was no list. */
  async end(): Promise<Keys> {
    const keys = await this.#list.end();
    if (keys === null) throw new Error('GET /users answers no list of keys');
    return new Map(keys.map((key) => [key.accessKey, key]));
  }
}

/** The keys of a list's answer; one that is as `known` has it is that object. Rejects with an `Error` for people where it is none. */
export async function keysIn(body: Buffer, line: Revision, known?: Keys): Promise<Keys> {
  const reader = new KeyReader(line, known);
  for (let at = 0; at < body.length; at += PIECE) await reader.take(body.subarray(at, at + PIECE));
  return reader.end();
}

/** Tells whether two lines say the same of a key, as far as both say anything. */
export function saysSame(one: AccessKey, other: AccessKey, lines: readonly Revision[]): boolean {
  const tellNames = lines.every(({ snapshot }) => hasNames(snapshot));
  return one.limitBytes === other.limitBytes && (!tellNames || one.name === other.name);
}
