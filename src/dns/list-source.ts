import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { STATUS_CODES } from 'node:http';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { limitWords } from '../core/file-limits.js';
import { httpUrl, isUrl } from '../wire/dns-values.js';
import type { Connections } from './connections.js';
import { ListError } from './list-lines.js';
import { listPlace } from './list-place.js';
import type { Validators } from './list-store.js';

/** The outcome of a download: unchanged, or content. */
export type ListContent =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'content'; readonly chunks: AsyncIterable<Buffer>; readonly validators: Validators };

/** The largest list in bytes, both compressed and unpacked. */
export const MOST_LIST_BYTES = 100 * 1024 * 1024;
const MOST_REDIRECTS = 5;
/** Milliseconds without data after which a download fails. */
const SILENCE_MS = 30_000;

/**
 * Connections to a list's own URL, and to the target of its redirects. They are kept apart, because some hosts may be
 * reached only by the former.
 */
export interface ListConnections {
  readonly own: Connections;
  readonly redirected: Connections;
}

export interface OpenListOptions {
  readonly connections: ListConnections;
  /** Only files below this folder are lists; null allows none. */
  readonly listFolder: string | null;
  readonly mostBytes: number;
  readonly signal: AbortSignal;
}

/**
 * Opens a list at an http, https or file URL. Rejects with `ListError` if it is not available, with `ListSkipped` if
 * its URL is not allowed; the chunks reject when they exceed the limit. Redirects may lead only to http and https.
 */
export async function openList(url: string, known: Validators, options: OpenListOptions): Promise<ListContent> {
  const place = await listPlace(url, options.listFolder);
  if (place.kind === 'file') return openFile(place.path, known, options);
  const response = await follow(place.url, known, options);
  if (response.statusCode === 304) {
    await discard(response);
    return { kind: 'unchanged' };
  }
  const encoding = String(response.headers['content-encoding'] ?? 'identity').toLowerCase();
  if (response.statusCode !== 200 || !/^(identity|gzip|x-gzip)$/.test(encoding)) {
    await discard(response);
    throw new ListError(
      response.statusCode === 200
        ? `it comes in the unknown encoding ${encoding}`
        : `HTTP ${response.statusCode} ${STATUS_CODES[response.statusCode] ?? ''}`.trim(),
    );
  }
  return {
    kind: 'content',
    chunks: unpacked(response.body, options.mostBytes),
    validators: { etag: header(response, 'etag'), lastModified: header(response, 'last-modified') },
  };
}

async function follow(start: URL, known: Validators, options: OpenListOptions): Promise<Dispatcher.ResponseData> {
  const { own, redirected } = options.connections;
  let url = start;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
    const response = await ask(url, known, { connections: redirects === 0 ? own : redirected, signal: options.signal });
    const location = header(response, 'location');
    if (![301, 302, 303, 307, 308].includes(response.statusCode) || location === null) return response;
    await discard(response);
    const next = isUrl(location, url.href) ? httpUrl(new URL(location, url.href).href) : null;
    if (next === null) throw new ListError('it redirects to what is no http or https URL');
    url = next;
  }
  throw new ListError(`it redirects more than ${MOST_REDIRECTS} times`);
}

interface Asking {
  readonly connections: Connections;
  readonly signal: AbortSignal;
}

async function ask(url: URL, known: Validators, { connections, signal }: Asking) {
  const dispatcher = await connections.dispatcherFor(url);
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return dispatcher.request({
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    method: 'GET',
    headers: {
      accept: 'text/plain, */*;q=0.5',
      'accept-encoding': 'gzip',
      ...(url.username === '' ? {} : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }),
      ...(known.etag === null ? {} : { 'if-none-match': known.etag }),
      ...(known.lastModified === null ? {} : { 'if-modified-since': known.lastModified }),
    },
    headersTimeout: SILENCE_MS,
    bodyTimeout: SILENCE_MS,
    signal,
  });
}

function header(response: Dispatcher.ResponseData, name: string): string | null {
  const value = response.headers[name];
  return typeof value === 'string' ? value : null;
}

async function discard(response: Dispatcher.ResponseData): Promise<void> {
  response.body.on('error', () => undefined);
  await response.body.dump({ limit: 65_536 }).catch(() => undefined);
}

/** Without O_NONBLOCK, opening a pipe would wait for its writer; links have been resolved before. */
const OPEN_FILE = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

/** Opens a regular file only, because others could be endless or never open. Its time and size show a change. */
async function openFile(path: string, known: Validators, { mostBytes, signal }: OpenListOptions): Promise<ListContent> {
  const file = await open(path, OPEN_FILE);
  const found = await file.stat({ bigint: true });
  const etag = `${found.mtimeNs}-${found.size}`;
  if (!found.isFile() || known.etag === etag) {
    await file.close();
    if (!found.isFile()) throw new ListError('it is no regular file');
    return { kind: 'unchanged' };
  }
  const source = file.createReadStream({ highWaterMark: 1 << 16, signal });
  return { kind: 'content', chunks: unpacked(source, mostBytes), validators: { etag, lastModified: null } };
}

/**
 * Returns the content without gzip, which its first two bytes reveal (RFC 1952 section 2.3.1), whether transferred or
 * stored so.
 */
async function* unpacked(source: Readable, mostBytes: number): AsyncGenerator<Buffer> {
  const chunks = limited(source, mostBytes);
  const start: Buffer[] = [];
  let size = 0;
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
    start.push(next.value);
    size += next.value.length;
    if (size > 1) break;
  }
  const first = Buffer.concat(start);
  const whole = continued(first, chunks);
  if (first[0] !== 0x1f || first[1] !== 0x8b) yield* whole;
  else yield* limited(gunzipped(whole), mostBytes);
}

async function* continued(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

async function* gunzipped(packed: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const source = Readable.from(packed);
  const gunzip = createGunzip();
  source.on('error', (error) => gunzip.destroy(error));
  try {
    yield* source.pipe(gunzip);
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}

async function* limited(chunks: AsyncIterable<Buffer>, mostBytes: number): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > mostBytes) throw new ListError(`it is larger than ${limitWords(mostBytes)}`);
    yield chunk;
  }
}
