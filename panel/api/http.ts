import { encodeExact, parsed } from '../text/exact-json.js';
import { ApiFailure, type FailureKind } from './failure.js';
import { isObject } from './objects.js';

/** One request below an API root. */
export interface HttpCall {
  /** `GET` where it is left out. */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** Encoded as JSON with exact integers. */
  readonly body?: unknown;
  /** JSON text to send as it is, instead of `body`. */
  readonly text?: string;
  readonly accept?: string;
  /** Further fields of its head. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly authorization?: string;
  /** Milliseconds until the whole answer must be there. */
  readonly timeout?: number;
  /** It may end the session that it is sent with, and is not held up by what begins the next. */
  readonly endsSession?: boolean;
  /** Goes on after the page is left. */
  readonly keepalive?: boolean;
}

const TIMEOUT = 20_000;

/** Keeps and sends nothing that the call does not name. */
const PLAINLY = { cache: 'no-store', credentials: 'omit', redirect: 'error', referrerPolicy: 'no-referrer' } as const;

/** A whole answer: an envelope with `ok` true. */
export interface HttpAnswer {
  readonly headers: Headers;
  readonly text: string;
}

/**
 * The entity tag of an answer, as a condition names it; null where it has none. A proxy that compresses makes it a weak one, or puts the coding's
 * name at its end, which no condition would match: these tags are those of what is said, and not of its bytes.
 */
export function entityTag({ headers }: HttpAnswer): string | null {
  return headers.get('etag')?.replace(/^W\/|[-;](?:gzip|br|zstd)(?="$)/g, '') || null;
}

/** Sends a call and gives its whole answer. Throws `ApiFailure`. */
export async function exchange(root: string, call: HttpCall): Promise<HttpAnswer> {
  const { response, text } = await send(root, call);
  const start = text.slice(0, 64).trimStart();
  if (response.ok && start.startsWith('{')) return { headers: response.headers, text };
  throw failureOf(response, text);
}

async function send(root: string, call: HttpCall): Promise<{ readonly response: Response; readonly text: string }> {
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), call.timeout ?? TIMEOUT);
  const body = call.text ?? (call.body === undefined ? undefined : encodeExact(call.body));
  const headers: Record<string, string> = { accept: call.accept ?? 'application/json' };
  if (call.authorization !== undefined) headers.authorization = call.authorization;
  if (body !== undefined) headers['content-type'] = 'application/json';
  Object.assign(headers, call.headers);
  try {
    const response = await fetch(root + call.path, {
      method: call.method ?? 'GET',
      headers,
      body: body ?? null,
      signal: patience.signal,
      ...PLAINLY,
      keepalive: call.keepalive ?? false,
    });
    return { response, text: await response.text() };
  } catch {
    throw new ApiFailure(patience.signal.aborted ? 'timeout' : 'unreachable');
  } finally {
    clearTimeout(timer);
  }
}

/** An event of a stream (WHATWG HTML, "Server-sent events"). */
export interface StreamedEvent {
  /** Its kind, `message` where it tells none. */
  readonly event: string;
  readonly data: string;
}

/** Milliseconds without a sign of life, of which Keyway sends one every 15 s. */
const SILENCE = 45_000;

/** Reads a stream of events until it ends, or the signal does. Throws `ApiFailure`. */
export async function* streamEvents(
  root: string,
  { path, authorization }: Pick<HttpCall, 'path' | 'authorization'>,
  signal: AbortSignal,
): AsyncGenerator<StreamedEvent, void> {
  const patience = new AbortController();
  let timer = setTimeout(() => patience.abort(), SILENCE);
  try {
    const response = await fetch(root + path, {
      headers: { accept: 'text/event-stream', ...(authorization === undefined ? {} : { authorization }) },
      signal: AbortSignal.any([signal, patience.signal]),
      ...PLAINLY,
    });
    if (!response.ok || response.body === null) throw failureOf(response, await response.text());
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      clearTimeout(timer);
      timer = setTimeout(() => patience.abort(), SILENCE);
      const blocks = (rest + read.value).split('\n\n');
      rest = blocks.pop() ?? '';
      yield* blocks.flatMap(eventIn);
    }
  } catch (error) {
    if (error instanceof ApiFailure) throw error;
    throw new ApiFailure(patience.signal.aborted ? 'timeout' : 'unreachable');
  } finally {
    clearTimeout(timer);
    // One that is not read to its end would keep its connection, of which a browser has few.
    patience.abort();
  }
}

/** The event of a block of lines; none in one of comments alone. */
function eventIn(block: string): readonly StreamedEvent[] {
  const fields = block.split('\n').map((line) => /^(\w+): ?(.*)$/.exec(line) ?? []);
  const values = (name: string) => fields.flatMap(([, field, value = '']) => (field === name ? [value] : []));
  const data = values('data');
  return data.length === 0 ? [] : [{ event: values('event').at(-1) ?? 'message', data: data.join('\n') }];
}

/** The revisions' answers where a change could not be written. */
const UNSAVED = /^(failed to save configuration$|applied, but )/;

function failureOf(response: Response, text: string): ApiFailure {
  const { status } = response;
  const wait = Number(response.headers.get('retry-after') ?? Number.NaN);
  const envelope = failureIn(text);
  const said = typeof envelope?.error === 'string' ? envelope.error : null;
  const failure = (kind: FailureKind, detail = said ?? '') =>
    new ApiFailure(kind, detail, status, Number.isFinite(wait) ? wait : null, envelope ?? {});
  if (status === 401) return failure('unauthorized');
  const isUnknownPath = status === 404 && envelope?.code === undefined && (said === null || said === 'not found');
  if (status === 405 || isUnknownPath) return failure('absent');
  if (envelope?.code === 'saved_in_memory') return failure('inMemory');
  if (said !== null && UNSAVED.test(said)) return failure('unsaved');
  if (status >= 500) return failure('broken');
  if (response.ok) return failure(/^\s*</.test(text) ? 'page' : 'garbled', '');
  return failure('refused', said ?? text.slice(0, 300));
}

/** A failure envelope, or null for any other text. */
function failureIn(text: string): Readonly<Record<string, unknown>> | null {
  const value = parsed(text);
  return isObject(value) && value.ok === false && typeof value.error === 'string' ? value : null;
}

/** The `data` of a success envelope. Throws `ApiFailure('garbled')` for anything else. */
export function dataOf(text: string): unknown {
  const value = parsed(text);
  if (value === null) throw new ApiFailure('garbled');
  if (!isObject(value) || typeof value.ok !== 'boolean') throw new ApiFailure('garbled', 'ok');
  if (value.ok === false) throw new ApiFailure('refused', String(value.error ?? ''), 200);
  return value.data;
}
