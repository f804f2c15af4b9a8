import type { Dispatcher } from 'undici';
import type { Connections } from './connections.js';
import { FLAG, HEADER_BYTES, MAX_MESSAGE_BYTES, TYPE } from './message.js';

/** A request to the upstream. */
export interface DohQuestion {
  /** The question section's one entry on the wire, in lower case. */
  readonly bytes: Buffer;
  readonly dnssecOk: boolean;
  readonly checkingDisabled: boolean;
}

/** The upstream's response, not yet looked into. */
export interface DohMessage {
  readonly message: Buffer;
  /** Seconds that an HTTP cache had it (RFC 9111 section 5.1). */
  readonly age: number;
}

/** Why an exchange with the upstream failed; one clause for the log. */
export class UpstreamError extends Error {}

const MEDIA_TYPE = 'application/dns-message';
/** A URI template's variable (RFC 8484 section 4.1.1); URLs keep it in this form. */
const TEMPLATE = /(?:\{|%7B)\?dns(?:\}|%7D)$/i;
/** Queries are padded to multiples of this (RFC 8467 section 4.1), so that their size does not tell the name. */
const PADDED_TO = 128;
const PADDING_OPTION = 12;
const UDP_BYTES = 4096;

/**
 * Asks by POST, or by GET when the URL ends in `{?dns}` and with servers that refuse POST. The id is always 0, so that
 * equal questions are equal requests (RFC 8484 section 4.1).
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
    /** One exchange. Rejects with an error whose message is one clause. */
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
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    // Leaving the loop destroys the stream.
    if (size > MAX_MESSAGE_BYTES) throw new UpstreamError('its answer is larger than a DNS message can be');
  }
  return Buffer.concat(chunks, size);
}

function readAge(header: string | string[] | undefined): number {
  return typeof header === 'string' && /^\d{1,9}$/.test(header) ? Number(header) : 0;
}

/** The query on the wire: recursion desired, with EDNS and padding. */
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
