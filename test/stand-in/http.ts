import type { IncomingMessage, ServerResponse } from 'node:http';
import { failureEnvelope, successEnvelopeOf } from '../../src/wire/envelope.js';
import { type Operation, operationsOf } from '../../src/wire/operations.js';
import { accepts } from '../../src/wire/traits/auth.js';
import { BodyRefused, jsonBody } from './body.js';
import { type Asked, Failed, HANDLERS, type Server } from './operations.js';

/** What the servers' panel was when they were recorded. */
export const INDEX_PAGE = '<!doctype html><title>panel</title><script src="./assets/app.js"></script>\n';

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
    'access-control-allow-origin': '*',
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

interface Match {
  readonly operation: Operation;
  readonly key: string;
}

/** The operations of a path, whatever the method. */
function matching({ behaviour }: Server, path: string): readonly Match[] {
  return operationsOf(behaviour.revision).flatMap((operation) => {
    const pattern = operation.path.split('/');
    const parts = path.split('/');
    const fits = pattern.length === parts.length && pattern.every((each, i) => each === '{key}' || each === parts[i]);
    const key = parts[pattern.indexOf('{key}')];
    if (!fits || key === '') return [];
    // `/users/bulk` is its own path, not that of a key.
    if (key !== undefined && behaviour.revision.capabilities.bulk && path === '/users/bulk') return [];
    return [{ operation, key: key ?? '' }];
  });
}

async function replyOfApi(
  server: Server,
  request: IncomingMessage,
  body: Buffer,
  method: string,
  found: readonly Match[],
): Promise<Reply> {
  if (body.length > server.mostBodyBytes) return { status: 413, headers: TEXT, body: 'length limit exceeded' };
  const match = found.find(({ operation }) => operation.method === method);
  if (match === undefined) {
    const methods = found.flatMap(({ operation }) =>
      operation.method === 'GET' ? ['GET', 'HEAD'] : [operation.method],
    );
    const allow = { allow: methods.join(',') };
    if (method !== 'OPTIONS') return { status: 405, headers: allow };
    const any = { 'access-control-allow-methods': '*', 'access-control-allow-headers': '*' };
    return { status: 200, headers: { ...allow, ...any } };
  }
  const isProtected = match.operation.access === 'protected';
  if (isProtected && !(await isAdmitted(server, request))) return envelopeOf(401, 'unauthorized');
  const key = decoded(match.key);
  if (key === null) return { status: 400, headers: TEXT, body: 'Invalid URL: Invalid UTF-8 in `key`' };
  return reply(match, {
    server,
    key,
    accept: request.headers.accept ?? '',
    query: new URLSearchParams((request.url ?? '').split('?')[1] ?? ''),
    body: () => jsonBody(request.headers['content-type'], body),
  });
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

async function reply({ operation }: Match, asked: Asked): Promise<Reply> {
  try {
    const data = await HANDLERS[operation.name](asked);
    return { status: 200, headers: JSON_ANSWER, body: successEnvelopeOf(data) };
  } catch (error) {
    if (error instanceof Failed) return envelopeOf(error.status, error.message);
    if (error instanceof BodyRefused) return { status: error.status, headers: TEXT, body: error.message };
    throw error;
  }
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
  if (file === '/assets/app.js')
    return { status: 200, headers: { 'content-type': 'text/javascript' }, body: 'export {};\n' };
  if (file !== '/index.html' && !panel.missingFile.answersIndex(file))
    return { status: 404, headers: TEXT, body: '404 Not Found' };
  return { status: 200, headers: { 'content-type': 'text/html' }, body: INDEX_PAGE };
}
