import type { Dispatcher } from 'undici';
import { GatheredBytes } from '../core/gathered-bytes.js';
import type { Connections } from './connections.js';
import { FLAG, HEADER_BYTES, MAX_MESSAGE_BYTES, TYPE } from './message.js';

/** A request to the upstream. */
export interface DohQuestion {
  /** The only entry of the question section, in wire form, its name in lower case. */
  readonly bytes: Buffer;
  readonly dnssecOk: boolean;
  readonly checkingDisabled: boolean;
}

/** The upstream's response, not parsed yet. */
export interface DohMessage {
  readonly message: Buffer;
  /** Seconds that the response spent in an HTTP cache (RFC 9111 section 5.1). */
  readonly age: number;
}

/** Why an exchange with the upstream failed; one clause for the log. */
export class UpstreamError extends Error {}

const MEDIA_TYPE = 'application/dns-message';
/** Matches a URI template's variable (RFC 8484 section 4.1.1), also as URLs encode it. */
const TEMPLATE = /(?:\{|%7B)\?dns(?:\}|%7D)$/i;
/** Queries are padded to multiples of this (RFC 8467 section 4.1), so that their size does not reveal the name. */
const PADDED_TO = 128;
const PADDING_OPTION = 12;
const UDP_BYTES = 4096;

/**
 * Creates an upstream that is asked by POST, or by GET if the URL ends in `{?dns}` or the server refuses POST. The id
 * is always 0, so that equal questions are equal requests (RFC 8484 section 4.1).
 */
export function createDohUpstream(upstream: string, connections: Connections) {
  const url = new URL(upstream.replace(TEMPLATE, ''));
  let byGet = TEMPLATE.test(upstream);

  async function exchange(question: DohQuestion, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const dispatcher = await connections.dispatcherFor(url);
    const query = writeDohQuery(question);
    const path = `${url.pathname}${url.search}`;
    const common = { origin: url.origin, signal };
    if (!byGet) {
      const headers = { accept: MEDIA_TYPE, 'content-type': MEDIA_TYPE };
      return dispatcher.request({ ...common, path, method: 'POST', headers, body: query });
    }
    const dns = `${url.search === '' ? '?' : '&'}dns=${query.toString('base64url')}`;
    return dispatcher.request({ ...common, path: `${path}${dns}`, method: 'GET', headers: { accept: MEDIA_TYPE } });
  }

  return {
    /** Makes one exchange. Rejects with an error whose message is one clause. */
    async ask(question: DohQuestion, signal: AbortSignal): Promise<DohMessage> {
      let response = await exchange(question, signal);
      if (!byGet && (response.statusCode === 405 || response.statusCode === 501)) {
        await discard(response);
        byGet = true;
        response = await exchange(question, signal);
      }
      const type = String(response.headers['content-type'] ?? 'no content type');
      if (response.statusCode !== 200 || type.split(';')[0]?.trim().toLowerCase() !== MEDIA_TYPE) {
        await discard(response);
        const what = response.statusCode === 200 ? `with ${type}` : `${response.statusCode}`;
        throw new UpstreamError(`it answered ${what}`);
      }
      return { message: await readBody(response), age: readAge(response.headers.age) };
    },
  };
}

async function discard(response: Dispatcher.ResponseData): Promise<void> {
  response.body.on('error', () => undefined);
  await response.body.dump({ limit: 16_384 }).catch(() => undefined);
}

async function readBody({ body }: Dispatcher.ResponseData): Promise<Buffer> {
  const gathered = new GatheredBytes();
  for await (const chunk of body) {
    gathered.add(chunk);
    // Leaving the loop destroys the stream.
    if (gathered.length > MAX_MESSAGE_BYTES) throw new UpstreamError('its answer is larger than a DNS message can be');
  }
  return gathered.whole();
}

function readAge(header: string | string[] | undefined): number {
  return typeof header === 'string' && /^\d{1,9}$/.test(header) ? Number(header) : 0;
}

/** Returns the query in wire form: recursion desired, with EDNS and padding. */
export function writeDohQuery({ bytes, dnssecOk, checkingDisabled }: DohQuestion): Buffer {
  const unpadded = HEADER_BYTES + bytes.length + 15;
  const query = Buffer.alloc(Math.ceil(unpadded / PADDED_TO) * PADDED_TO);
  query.writeUInt16BE(FLAG.recursionDesired | (checkingDisabled ? FLAG.checkingDisabled : 0), 2);
  query.writeUInt16BE(1, 4);
  query.writeUInt16BE(1, 10);
  bytes.copy(query, HEADER_BYTES);
  const opt = HEADER_BYTES + bytes.length;
  query.writeUInt16BE(TYPE.opt, opt + 1);
  query.writeUInt16BE(UDP_BYTES, opt + 3);
  query.writeUInt16BE(dnssecOk ? 0x8000 : 0, opt + 7);
  query.writeUInt16BE(query.length - opt - 11, opt + 9);
  query.writeUInt16BE(PADDING_OPTION, opt + 11);
  query.writeUInt16BE(query.length - unpadded, opt + 13);
  return query;
}
