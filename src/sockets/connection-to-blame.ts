import { executionAsyncId, executionAsyncResource, triggerAsyncId } from 'node:async_hooks';
import { Socket } from 'node:net';

/** The connections of HTTP servers, by the async id of their parser. */
const byParser = new Map<number, Socket>();
const threw = new WeakMap<object, Socket>();
let isChanging = false;

/** Notes, in the event of a request, whose parser it is that runs. Returns what forgets it. */
export function noteParser(socket: Socket): () => void {
  const id = executionAsyncId();
  byParser.set(id, socket);
  return () => void byParser.delete(id);
}

/** Runs what belongs to a connection where none of its own events does. */
export function runFor(socket: Socket, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (typeof error === 'object' && error !== null) threw.set(error, socket);
    throw error;
  }
}

/**
 * The connection that the uncaught exception which is being told of may be blamed on: it left an event of this connection's
 * parser, or what that put off to the end of its turn, and nothing that ran there had begun to change the state. Null where
 * that is not known for certain.
 */
export function connectionToBlame(error: unknown): Socket | null {
  if (isChanging) return null;
  const known = typeof error === 'object' && error !== null ? threw.get(error) : undefined;
  if (known !== undefined) return known;
  const resource: { readonly socket?: unknown } = executionAsyncResource();
  if (resource.socket instanceof Socket) return resource.socket;
  // What was put off has a bare object; timers, which nobody answers for, have none.
  const isPutOff = Object.getPrototypeOf(resource) === Object.prototype;
  return isPutOff ? (byParser.get(triggerAsyncId()) ?? null) : null;
}

/** To be called where a change to the state begins: what is thrown in this turn is then nobody's own affair. */
export function changeBegins(): void {
  isChanging = true;
  queueMicrotask(endChange);
}

function endChange(): void {
  isChanging = false;
}
