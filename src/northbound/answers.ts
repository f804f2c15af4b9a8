import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { keepReading } from '../sockets/early-answer.js';
import { failureEnvelope, JSON_TYPE } from '../wire/envelope.js';
import { commonErrors } from '../wire/errors.js';
import { isOfOwnOrigin, methodsAt, notAllowed } from './matching.js';
import type { Mount } from './mount.js';

/** The header by which any origin may call (protocol: "Addressing"). */
export const ANY_ORIGIN = ['access-control-allow-origin', '*'] as const;

export function allowAnyOrigin(reply: FastifyReply): void {
  const { ownOriginOnly = false } = reply.request.routeOptions.config;
  if (!ownOriginOnly) reply.header(...ANY_ORIGIN);
}

export function sendFailure(reply: FastifyReply, status: number, error: string): FastifyReply {
  allowAnyOrigin(reply);
  return sendEnvelope(reply, status, error);
}

function sendEnvelope(reply: FastifyReply, status: number, error: string): FastifyReply {
  return reply.code(status).header('content-type', JSON_TYPE).send(failureEnvelope(error));
}

/** Sends a failure envelope to a request whose body may still be coming: a client that is sending it gets to the answer. */
export function sendEarlyFailure(reply: FastifyReply, status: number, error: string): FastifyReply {
  keepReading(reply.request.raw, reply.raw);
  return sendFailure(reply, status, error);
}

/**
 * Refuses a request of which too many come without a credential, for so many seconds, and closes its connection: for a thousand in one packet
 * there is one refusal.
 */
export function sendTooMany(reply: FastifyReply, seconds: number): FastifyReply {
  const { status, text } = commonErrors.tooManyRequests;
  return sendEarlyFailure(reply.headers({ 'retry-after': seconds, connection: 'close' }), status, text);
}

/** Answers 404, or 405 with `Allow` (design: "Unmatched API path"). */
export function answerUnmatched(mounts: readonly Mount[], request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const methods = methodsAt(mounts, request.url);
  if (!isOfOwnOrigin(mounts, request.url)) allowAnyOrigin(reply);
  keepReading(request.raw, reply.raw);
  if (methods.length === 0) return sendEnvelope(reply, 404, 'not found');
  return sendEnvelope(reply.header('allow', methods.join(', ')), 405, notAllowed(methods));
}

/**
 * Bytes handed to the system at once. All of a list of 100,000 keys (19 MB) keeps every other connection waiting for 10 ms
 * and more while the system copies it; much smaller slices make the list itself slow.
 */
const SLICE_BYTES = 1 << 20;

/** Pieces that follow one another. */
type Body = string | Buffer | readonly Buffer[];

/** In bytes. */
export function bodyLength(body: Body): number {
  if (typeof body === 'string') return Buffer.byteLength(body);
  return piecesOf(body).reduce((sum, { length }) => sum + length, 0);
}

/**
 * Ends an answer whose header is written with this body of so many bytes: a large one slice by slice, others being served
 * in between.
 */
export function sendBody(response: ServerResponse, body: Body, length: number): void {
  // A text with a byte for each character is ASCII, which Node writes faster when it need not look for anything else.
  if (typeof body === 'string') response.end(body, body.length === length ? 'latin1' : 'utf8');
  else if (length <= SLICE_BYTES) response.end(Buffer.isBuffer(body) ? body : Buffer.concat(body));
  else sendSlices(response, slicesOf(piecesOf(body)));
}

function piecesOf(body: Exclude<Body, string>): readonly Buffer[] {
  return Buffer.isBuffer(body) ? [body] : body;
}

function* slicesOf(pieces: readonly Buffer[]): Generator<Buffer, void> {
  for (const piece of pieces)
    for (let at = 0; at < piece.length; at += SLICE_BYTES) yield piece.subarray(at, at + SLICE_BYTES);
}

function sendSlices(response: ServerResponse, slices: Iterator<Buffer, void>): void {
  function next(): void {
    const slice = slices.next();
    if (slice.done === true) response.end();
    else response.write(slice.value, goOn);
  }
  /** Called once the system has taken the slice, or with an error when the connection is gone. */
  function goOn(error?: Error | null): void {
    if (error) return;
    setImmediate(next);
  }
  next();
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True for what pages of other origins may not read. */
    readonly ownOriginOnly?: boolean;
  }
}
