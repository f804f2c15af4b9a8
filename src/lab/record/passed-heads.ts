import type { IncomingMessage, InformationEvent, ServerResponse } from 'node:http';

/** Methods for which Node sends no header about an absent body. */
const BODILESS = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE']);

/** Tells whether a message declares a body, and where that ends. */
export function framesBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

/** Returns the headers of a head, given as alternating names and values: names in lower case, repeated ones joined. */
export function headersIn(raw: readonly string[]): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const [given, value] of pairsOf(raw)) {
    const name = given.toLowerCase();
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return headers;
}

/** Returns a request's headers for the server at `host`. */
export function requestHeaders(incoming: IncomingMessage, host: string): string[] {
  const { rawHeaders, headers, httpVersion, method = 'GET' } = incoming;
  const named = rawHeaders.map((text, index) => {
    const isHost = index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'host';
    return isHost ? host : text;
  });
  // Node sends HTTP/1.1, which must name a host, and would announce a chunked body where there is none.
  const ofVersion = headers.host === undefined && httpVersion === '1.0' ? ['Host', host] : [];
  const ofLength = framesBody(incoming) || BODILESS.has(method) ? [] : ['Content-Length', '0'];
  return [...(passesAsItIs(incoming) ? named : without('trailer', named)), ...ofVersion, ...ofLength];
}

/** Returns an answer's headers for a client that used this version of HTTP. */
export function answerHeaders(answer: IncomingMessage, httpVersion: string): readonly string[] {
  const { rawHeaders } = answer;
  // HTTP/1.0 has no chunks: its answers end with the connection.
  if (httpVersion === '1.0') return without('transfer-encoding', without('trailer', rawHeaders));
  return passesAsItIs(answer) ? rawHeaders : without('trailer', rawHeaders);
}

/** Passes on a server's informational responses. */
export function passInformation(
  said: InformationEvent,
  { httpVersion }: IncomingMessage,
  outgoing: ServerResponse,
): void {
  if (httpVersion === '1.0') return;
  if (said.statusCode === 100) {
    outgoing.writeContinue();
    return;
  }
  const lines = pairsOf(said.rawHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
  outgoing.socket?.write(`HTTP/1.1 ${said.statusCode} ${said.statusMessage}\r\n${lines.join('')}\r\n`, 'latin1');
}

/** Returns the trailers of a message that has ended. */
export function trailersOf({ rawTrailers }: IncomingMessage): [string, string][] {
  return pairsOf(rawTrailers);
}

function isChunked({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding']?.toLowerCase().includes('chunked') === true;
}

/** Tells whether a head passes unchanged: Node refuses a `Trailer` for a body without chunks. */
function passesAsItIs(message: IncomingMessage): boolean {
  return message.headers.trailer === undefined || isChunked(message);
}

function without(unwanted: string, rawHeaders: readonly string[]): string[] {
  return pairsOf(rawHeaders)
    .filter(([name]) => name.toLowerCase() !== unwanted)
    .flat();
}

/** Pairs alternating names and values. */
function pairsOf(raw: readonly string[]): [string, string][] {
  return Array.from({ length: raw.length / 2 }, (_, index) => [raw[2 * index] ?? '', raw[2 * index + 1] ?? '']);
}
