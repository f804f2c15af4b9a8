import { encodeExact, parseExact } from '../text/exact-json.js';
import { ApiFailure } from './failure.js';
import { isObject } from './objects.js';

/** One request below an API root. */
export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  /** Encoded as JSON with exact integers. */
  readonly body?: unknown;
  /** JSON text to send as it is, instead of `body`. */
  readonly text?: string;
  readonly accept?: string;
  readonly authorization?: string;
  /** Milliseconds until the whole answer must be there. */
  readonly timeout?: number;
  /** It may end the session that it is sent with, and is not held up by what begins the next. */
  readonly endsSession?: boolean;
  /** Goes on after the page is left. */
  readonly keepalive?: boolean;
}

const TIMEOUT = 20_000;

/** Sends a call and gives the text of a whole answer that is an envelope with `ok` true. Throws `ApiFailure`. */
export async function request(root: string, call: HttpCall): Promise<string> {
  const { response, text } = await send(root, call);
  const start = text.slice(0, 64).trimStart();
  if (response.ok && start.startsWith('{')) return text;
  throw failureOf(response, text);
}

async function send(root: string, call: HttpCall): Promise<{ readonly response: Response; readonly text: string }> {
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), call.timeout ?? TIMEOUT);
  const body = call.text ?? (call.body === undefined ? undefined : encodeExact(call.body));
  const headers: Record<string, string> = { accept: call.accept ?? 'application/json' };
  if (call.authorization !== undefined) headers.authorization = call.authorization;
  if (body !== undefined) headers['content-type'] = 'application/json';
  try {
    const response = await fetch(root + call.path, {
      method: call.method,
      headers,
      ...(body === undefined ? {} : { body }),
      signal: patience.signal,
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      referrerPolicy: 'no-referrer',
      keepalive: call.keepalive ?? false,
    });
    return { response, text: await response.text() };
  } catch {
    throw new ApiFailure(patience.signal.aborted ? 'timeout' : 'unreachable');
  } finally {
    clearTimeout(timer);
  }
}

function failureOf(response: Response, text: string): ApiFailure {
  const { status } = response;
  const wait = Number(response.headers.get('retry-after') ?? Number.NaN);
  const retryAfter = Number.isFinite(wait) ? wait : null;
  const said = sentenceOf(text);
  if (status === 401) return new ApiFailure('unauthorized', said ?? '', status, retryAfter);
  if (status === 405 || (status === 404 && (said === null || said === 'not found'))) {
    return new ApiFailure('absent', said ?? '', status);
  }
  if (status >= 500) return new ApiFailure('broken', said ?? '', status, retryAfter);
  if (response.ok) return new ApiFailure(/^\s*</.test(text) ? 'page' : 'garbled', '', status);
  return new ApiFailure('refused', said ?? text.slice(0, 300), status, retryAfter);
}

/** The `error` of a failure envelope, or null where the text is none. */
function sentenceOf(text: string): string | null {
  try {
    const value = parseExact(text);
    return isObject(value) && value.ok === false && typeof value.error === 'string' ? value.error : null;
  } catch {
    return null;
  }
}

/** The `data` of a success envelope. Throws `ApiFailure('garbled')` for anything else. */
export function dataOf(text: string): unknown {
  let value: unknown;
  try {
    value = parseExact(text);
  } catch {
    throw new ApiFailure('garbled');
  }
  if (!isObject(value) || typeof value.ok !== 'boolean') throw new ApiFailure('garbled', 'ok');
  if (value.ok === false) throw new ApiFailure('refused', String(value.error ?? ''), 200);
  return value.data;
}
