import { MAX_U64 } from '../core/model.js';
import type { ClockPort } from '../core/ports.js';
import { isJsonObject, type JsonValue } from '../wire/json/json.js';
import { type OperationName, operationNamed } from '../wire/operations.js';
import { checked, SchemaError } from '../wire/schema-check.js';
import type { Revision } from '../wire/traits/revision.js';
import { STATUS } from '../wire/traits/status-form.js';
import { type Answer, type Caller, NoAnswer } from './call.js';
import { type Envelope, notAnEnvelope, readEnvelope } from './envelope.js';
import type { UpstreamEndpoint, UpstreamStatus, UpstreamSums } from './server.js';

/** All lines, and which of them a server package version speaks. */
export interface Lines {
  readonly all: readonly Revision[];
  resolve(version: string): ResolvedLine;
}

export type ResolvedLine =
  | { readonly ok: true; readonly revision: Revision; readonly version: string; readonly isLater: boolean }
  /** The expected version, for a message. */
  | { readonly ok: false; readonly problem: string };

/** Which callers a server accepts: everyone, those with the static token, or those with a session from a login. */
export type Access = 'open' | 'token' | 'session';

/** The server that was found at an address, or why none was. */
export type Finding =
  | {
      readonly kind: 'server';
      /** The line of its version; null if no line has it. */
      readonly revision: Revision | null;
      readonly status: UpstreamStatus;
      readonly apiRoot: string;
      readonly access: Access;
      /** True if its version is later than the last known one. */
      readonly isLater: boolean;
      /** One sentence if the line was uncertain, else null. */
      readonly note: string | null;
    }
  /** An API that refused entry, by what was tried. */
  | { readonly kind: 'closed'; readonly apiRoot: string; readonly tried: 'nothing' | 'token' | 'session' }
  /** No API at any of the paths, and what each path answered instead. */
  | { readonly kind: 'none'; readonly answers: readonly string[] };

export interface FindOptions {
  readonly caller: Caller;
  readonly lines: Lines;
  /** Without leading and trailing slashes; empty if there is none. */
  readonly webpath: string;
  /** The line to look for, whatever version the server reports. */
  readonly revision: Revision | null;
  readonly token: string | null;
  /** Strikes secrets out of the server's data. */
  readonly strike: (data: JsonValue) => JsonValue;
  /** Returns a session of the API at this root, or null if there is none to be had; absent without a login. */
  readonly session?: (apiRoot: string) => Promise<string | null>;
}

/**
 * Finds out which server is at an address, by asking for its status wherever a line has its API. It reads, and signs in
 * if the token is not enough. Rejects with `NoAnswer` if there is no answer.
 */
export async function findLine(options: FindOptions): Promise<Finding> {
  const { lines, webpath, revision } = options;
  const candidates = revision === null ? lines.all : [revision];
  // Paths that contain the web path first: nothing else can be below them.
  const roots = new Set(candidates.toSorted(byWebpath).map(({ root }) => root.paths(webpath).api));
  const answers: string[] = [];
  let closed: Finding | null = null;
  for (const apiRoot of roots) {
    const finding = await lookAt(apiRoot, options).catch(unlessTooLong);
    if (typeof finding === 'string') answers.push(`${apiRoot}/server/status: ${finding}`);
    else if (finding.kind === 'server') return finding;
    else closed ??= finding;
  }
  return closed ?? { kind: 'none', answers };
}

function byWebpath(left: Revision, right: Revision): number {
  return Number(right.root.usesWebpath) - Number(left.root.usesWebpath);
}

/** Converts the error of an answer that is too long for a status into its message; throws any other. */
function unlessTooLong(error: unknown): string {
  if (error instanceof NoAnswer && error.kind === 'too long') return error.message;
  throw error;
}

/** Asks one API root. If there is no API, resolves to a text that says what there is. */
async function lookAt(apiRoot: string, options: FindOptions): Promise<Finding | string> {
  const { token, session } = options;
  const first = await askStatus(apiRoot, token, options.caller);
  if (first.envelope?.ok === true) {
    const server = serverOf(options.strike(first.envelope.data), apiRoot, options, token === null ? 'open' : 'token');
    return withEarlierBuild(server, token, options.caller);
  }
  if (!isUnauthorized(first.envelope)) return wordsFor(first);
  if (session === undefined) return { kind: 'closed', apiRoot, tried: token === null ? 'nothing' : 'token' };
  const begun = await session(apiRoot);
  if (begun === null) return { kind: 'closed', apiRoot, tried: 'session' };
  const second = await askStatus(apiRoot, begun, options.caller);
  if (second.envelope?.ok === true) {
    const server = serverOf(options.strike(second.envelope.data), apiRoot, options, 'session');
    return withEarlierBuild(server, begun, options.caller);
  }
  return isUnauthorized(second.envelope) ? { kind: 'closed', apiRoot, tried: 'session' } : wordsFor(second);
}

interface Asked {
  readonly answer: Answer;
  readonly envelope: Envelope | null;
}

const askStatus = (apiRoot: string, secret: string | null, caller: Caller): Promise<Asked> =>
  askFor('getStatus', apiRoot, secret, caller);

async function askFor(
  operation: OperationName,
  apiRoot: string,
  secret: string | null,
  caller: Caller,
): Promise<Asked> {
  const { method, path } = operationNamed(operation);
  const headers = new Map(secret === null ? [] : [['authorization', `Bearer ${secret}`]]);
  const answer = await caller.send({ method, path: apiRoot + path, headers, body: undefined });
  return { answer, envelope: readEnvelope(answer) };
}

/** Returns when the server started, by the uptime in a session's status; monotonic, ms; null if unknown. */
export async function startOfServer(
  apiRoot: string,
  token: string,
  caller: Caller,
  clock: Pick<ClockPort, 'monotonic'>,
): Promise<number | null> {
  const sentAt = clock.monotonic();
  const asked = await askStatus(apiRoot, token, caller).catch(() => null);
  const status = asked?.envelope?.ok === true ? readStatus(asked.envelope.data) : null;
  return status === null ? null : sentAt - Number(status.uptimeSeconds) * 1000;
}

/** Adds the actual build to the note if reads show that the server is older than the version it reports. */
async function withEarlierBuild(
  finding: Finding | string,
  secret: string | null,
  caller: Caller,
): Promise<Finding | string> {
  if (typeof finding === 'string' || finding.kind !== 'server') return finding;
  const { revision, status, apiRoot, note } = finding;
  for (const { lacks, before } of revision?.earlierBuilds ?? []) {
    const isLacking = lacks === 'endpoint' ? status.endpoint === null : await lacksDns(apiRoot, secret, caller);
    if (isLacking)
      return { ...finding, note: [note, earlierNote(status.version, lacks, before)].filter(Boolean).join('; ') };
  }
  return finding;
}

/** Tells whether the server answers with its panel's page, as servers without these endpoints do. */
async function lacksDns(apiRoot: string, secret: string | null, caller: Caller): Promise<boolean> {
  const asked = await askFor('getDnsMeta', apiRoot, secret, caller).catch(() => null);
  return asked !== null && asked.envelope === null;
}

function earlierNote(version: string, lacks: string, before: string): string {
  return `it reports version ${shownVersion(version)}, and is a build before ${before}, for it has no ${lacks}: docs/upstream.md says under "What is lost" what such a build does otherwise`;
}

function isUnauthorized(envelope: Envelope | null): boolean {
  return envelope?.ok === false && envelope.status === 401;
}

function wordsFor({ answer, envelope }: Asked): string {
  return envelope?.ok === false ? `it answered ${envelope.status}` : notAnEnvelope(answer);
}

function serverOf(
  data: JsonValue,
  apiRoot: string,
  { lines, revision, webpath }: FindOptions,
  access: Access,
): Finding | string {
  const status = readStatus(data);
  if (status === null) return 'its status tells no version';
  const resolved = lines.resolve(status.version);
  const line = revision ?? (resolved.ok ? resolved.revision : null);
  if (line !== null && line.root.paths(webpath).api !== apiRoot)
    return `its status reports version ${shownVersion(status.version)}, whose API stands elsewhere`;
  return {
    kind: 'server',
    revision: line,
    status,
    apiRoot,
    access: access === 'token' && line?.auth.encode({ kind: 'token', secret: 'x' }) === null ? 'open' : access,
    isLater: isLater(resolved, revision),
    note: noteOf(resolved, revision),
  };
}

/** Tells whether nothing is known about servers of this version, and no line was named. */
export function isLater(resolved: ResolvedLine, wanted: Revision | null): boolean {
  return wanted === null && resolved.ok && resolved.isLater;
}

/** Returns one sentence if it is uncertain that a server of this version is called correctly, else null. */
export function noteOf(resolved: ResolvedLine, wanted: Revision | null): string | null {
  if (!resolved.ok) return null;
  const { version, revision } = resolved;
  if (isLater(resolved, wanted))
    return `it reports version ${version}, later than the last known one: it is called as line ${revision.id}, and ${UNCHANGED}`;
  if (wanted === null || revision === wanted) return null;
  return `it reports version ${version} of line ${revision.id}, and is called as line ${wanted.id}`;
}

/** The rule for a server whose version is later than the last known one. */
export const UNCHANGED = 'Keyway does not change its configuration until --upstream-revision names a line';

/** Returns the status in an answer's data; null if there is none. */
export function readStatus(data: JsonValue): UpstreamStatus | null {
  try {
    const { version, uptime_seconds, active_users, total_users } = checked(STATUS, data, 'data');
    return {
      version,
      uptimeSeconds: uptime_seconds,
      activeUsers: active_users,
      totalUsers: total_users,
      sums: sumsIn(data),
      endpoint: endpointIn(data),
    };
  } catch (error) {
    if (error instanceof SchemaError) return null;
    throw error;
  }
}

/** Returns the sums in a status; null unless the server reports all of them. */
function sumsIn(data: JsonValue): UpstreamSums | null {
  if (!isJsonObject(data)) return null;
  const { online_users: online, connections, bytes_up: bytesUp, bytes_down: bytesDown } = data;
  if (!isCount(online) || !isCount(connections) || !isCount(bytesUp) || !isCount(bytesDown)) return null;
  return { online, connections, bytesUp, bytesDown };
}

function isCount(value: JsonValue | undefined): value is bigint {
  return typeof value === 'bigint' && value >= 0n && value <= MAX_U64;
}

/** Returns the endpoint in a status, IPv6 hosts in brackets; null unless the server reports host and UDP port. */
export function endpointIn(data: JsonValue): UpstreamStatus['endpoint'] {
  const endpoint = isJsonObject(data) ? data.endpoint : undefined;
  if (!isJsonObject(endpoint)) return null;
  const { host, udp_port: port } = endpoint;
  if (typeof host !== 'string' || host === '' || typeof port !== 'bigint' || port < 1n || port > 65_535n) return null;
  const { subscription_prefix: prefix, dns_enabled: ownDns } = endpoint;
  return {
    host: bracketed(host),
    port: Number(port),
    tls: tlsIn(endpoint.tls),
    subscriptionPrefix: typeof prefix === 'string' && /^\/./.test(prefix) ? prefix : null,
    ownDns: ownDns === true,
  };
}

function tlsIn(tls: JsonValue | undefined): UpstreamEndpoint['tls'] {
  if (!isJsonObject(tls)) return null;
  const { host, port, path = null } = tls;
  if (typeof host !== 'string' || host === '' || typeof port !== 'bigint' || port < 1n || port > 65_535n) return null;
  return { host: bracketed(host), port: Number(port), path: typeof path === 'string' ? path : null };
}

function bracketed(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}

/** Returns a version that is safe to show, because a server may report any text. */
export function shownVersion(version: string): string {
  return JSON.stringify(version.slice(0, 40));
}
