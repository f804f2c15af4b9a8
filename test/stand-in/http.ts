import type { IncomingMessage, ServerResponse } from 'node:http';
import { failureEnvelope, successEnvelopeOf } from '../../src/wire/envelope.js';
import { accessOf, operationsOf } from '../../src/wire/operations.js';
import { accepts } from '../../src/wire/traits/auth.js';
import { BodyRefused, type JsonBody, jsonBody } from './body.js';
import { LATER_ROUTES } from './later-routes.js';
import { Failed, HANDLERS, type Handler, READERS, type Server, TooManySignIns } from './operations.js';

/** What the servers' panel was when they were recorded. */
export const INDEX_PAGE = '<!doctype html><title>panel</title><script src="./assets/app.js"></script>\n';

/** The page with which those from 0.4.6 on were built for the recordings. */
const ONE_PAGE =
  '<!doctype html><html><head><meta charset="utf-8"><title>OSTP</title></head><body>panel stand-in (the real page is not part of this build)</body></html>\n';

interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

const TEXT = { 'content-type': 'text/plain; charset=utf-8' };
const JSON_ANSWER = { 'content-type': 'application/json' };

/** Answers one request as a server of the line does. */
export async function answer(server: Server, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await bytesOf(request);
  const { status, headers = {}, body: text = '' } = await replyTo(server, request, body);
  const bytes = Buffer.from(text);
  response.writeHead(status, {
    ...(server.behaviour.later.isOwnOriginOnly ? {} : { 'access-control-allow-origin': '*' }),
    'content-length': String(bytes.length),
    ...headers,
  });
  response.end(request.method === 'HEAD' ? undefined : bytes);
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function replyTo(server: Server, request: IncomingMessage, body: Buffer): Promise<Reply> {
  const [path = ''] = (request.url ?? '').split('?');
  const { root } = server.behaviour.revision;
  const { base, api } = root.paths(server.memory.start.webpath);
  const method = request.method === 'HEAD' ? 'GET' : (request.method ?? '');
  const found = path.startsWith(`${api}/`) ? matching(server, path.slice(api.length)) : [];
  if (found.length > 0) return replyOfApi(server, request, body, method, found);
  return replyOfPanel(server, path, base, method);
}

/** What answers a method of a path. */
interface Match {
  readonly method: string;
  readonly isProtected: boolean;
  readonly key: string;
  /** Reads the body; null where none is read. */
  readonly read: ((body: JsonBody) => unknown) | null;
  readonly answer: Handler;
}

const readers: Readonly<Partial<Record<string, (body: JsonBody) => unknown>>> = READERS;

/** What answers a path, whatever the method. */
function matching(server: Server, path: string): readonly Match[] {
  const { behaviour } = server;
  const ofTable = operationsOf(behaviour.revision).flatMap(({ name, method, path: pattern, body, access }) => {
    const answer = HANDLERS[name];
    if (answer === undefined) return [];
    const isProtected = accessOf({ access }, behaviour.revision) === 'protected';
    const read = body.kind === 'none' ? null : (readers[name] ?? (() => undefined));
    return [{ pattern, method, isProtected, read, answer }];
  });
  const later = LATER_ROUTES.filter((route) => route.isServed(server)).map(
    ({ method, path: pattern, read, answer }) => {
      return { pattern, method, isProtected: true, read: read ?? null, answer };
    },
  );
  return [...later, ...ofTable].flatMap(({ pattern, ...route }) => {
    const key = keyIn(pattern, path);
    // `/users/bulk` is its own path, not that of a key.
    const isBulk = behaviour.revision.capabilities.bulk === true && path === '/users/bulk';
    return key === null || (key !== '' && isBulk) ? [] : [{ ...route, key }];
  });
}

/** The key of a path that fits a pattern, empty where that has none; null for another path. */
function keyIn(pattern: string, path: string): string | null {
  const [wanted, parts] = [pattern.split('/'), path.split('/')];
  const at = wanted.indexOf('{key}');
  const fits = wanted.length === parts.length && wanted.every((each, i) => each === '{key}' || each === parts[i]);
  if (!fits || (at >= 0 && parts[at] === '')) return null;
  return at < 0 ? '' : (parts[at] ?? '');
}

async function replyOfApi(
  server: Server,
  request: IncomingMessage,
  body: Buffer,
  method: string,
  found: readonly Match[],
): Promise<Reply> {
  const { later } = server.behaviour;
  if (body.length > server.mostBodyBytes) return { status: 413, headers: TEXT, body: 'length limit exceeded' };
  const match = found.find((each) => each.method === method);
  if (match === undefined) {
    const methods = found.flatMap((each) => (each.method === 'GET' ? ['GET', 'HEAD'] : [each.method]));
    const allow = { allow: methods.join(',') };
    if (method !== 'OPTIONS' || later.isOwnOriginOnly) return { status: 405, headers: allow };
    const any = { 'access-control-allow-methods': '*', 'access-control-allow-headers': '*' };
    return { status: 200, headers: { ...allow, ...any } };
  }
  const asJson = () => jsonBody(request.headers['content-type'], body);
  try {
    if (later.readsBodyFirst && match.read !== null) match.read(asJson());
    if (match.isProtected && !(await isAdmitted(server, request))) return envelopeOf(401, 'unauthorized');
    const key = decoded(match.key);
    if (key === null) return { status: 400, headers: TEXT, body: 'Invalid URL: Invalid UTF-8 in `key`' };
    const accept = request.headers.accept ?? '';
    const query = new URLSearchParams((request.url ?? '').split('?')[1] ?? '');
    const answer = await match.answer({ server, key, accept, query, body: asJson });
    const envelope = typeof answer === 'string' ? successEnvelopeOf(answer) : answer.envelope;
    return { status: 200, headers: JSON_ANSWER, body: envelope };
  } catch (error) {
    if (error instanceof Failed) return envelopeOf(error.status, error.message);
    if (error instanceof TooManySignIns) return envelopeOf(429, error.message);
    if (error instanceof BodyRefused) return { status: error.status, headers: TEXT, body: error.message };
    throw error;
  }
}

function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

async function isAdmitted({ behaviour, memory }: Server, request: IncomingMessage): Promise<boolean> {
  const { auth } = behaviour.revision;
  const { credentials } = memory.start;
  if (auth.isOpen(credentials)) return true;
  const { authorization } = request.headers;
  return authorization !== undefined && accepts(auth, authorization, credentials, memory.session);
}

function envelopeOf(status: number, error: string): Reply {
  return { status, headers: JSON_ANSWER, body: failureEnvelope(error) };
}

/** From 0.2.36 on whatever stands below the base and is nobody's is the panel's page, with 200. */
function replyOfPanel({ behaviour }: Server, path: string, base: string, method: string): Reply {
  const { panel } = behaviour.revision.capabilities;
  if (panel === undefined || (path !== base && !path.startsWith(`${base}/`))) return { status: 404 };
  if (method !== 'GET') return { status: 405, headers: { allow: 'GET,HEAD' } };
  if (path === base) return { status: 308, headers: { location: `${base}/` } };
  const file = path.slice(base.length);
  if (behaviour.later.hasOnePage) return { status: 200, headers: { 'content-type': 'text/html' }, body: ONE_PAGE };
  if (file === '/assets/app.js')
    return { status: 200, headers: { 'content-type': 'text/javascript' }, body: 'export {};\n' };
  if (file !== '/index.html' && !panel.missingFile.answersIndex(file))
    return { status: 404, headers: TEXT, body: '404 Not Found' };
  return { status: 200, headers: { 'content-type': 'text/html' }, body: INDEX_PAGE };
}
