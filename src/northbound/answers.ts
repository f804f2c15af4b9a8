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

/**
 * Sends a failure envelope while the request's body may still be coming, so that a client that is sending it reads the
 * answer.
 */
export function sendEarlyFailure(reply: FastifyReply, status: number, error: string): FastifyReply {
  keepReading(reply.request.raw, reply.raw);
  return sendFailure(reply, status, error);
}

/**
 * Refuses a request for `seconds`, because too many come without a credential. It closes the connection, so that a
 * thousand requests in one packet get one refusal.
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
 * Bytes handed to the system at once. A whole list of 100,000 keys (19 MB) keeps every other connection waiting for 10
 * ms and more while the system copies it; much smaller slices make the list itself slow.
 */
const SLICE_BYTES = 1 << 20;

/** The pieces of a body, in order. */
type Body = string | Buffer | readonly Buffer[];

/** Returns the length of a body in bytes. */
export function bodyLength(body: Body): number {
  if (typeof body === 'string') return Buffer.byteLength(body);
  return piecesOf(body).reduce((sum, { length }) => sum + length, 0);
}

/**
 * Ends an answer whose header has been written. A large body goes out in slices, so that other requests are served in
 * between.
 */
export function sendBody(response: ServerResponse, body: Body, length: number): void {
  // A text with one byte for each character is ASCII; Node writes that faster when told so.
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
    /** True if pages of other origins may not read the answer. */
    readonly ownOriginOnly?: boolean;
  }
}
