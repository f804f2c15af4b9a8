import { executionAsyncId, executionAsyncResource, triggerAsyncId } from 'node:async_hooks';
import { Socket } from 'node:net';

/** The connections of HTTP servers, by the async id of their parser. */
const byParser = new Map<number, Socket>();
const threw = new WeakMap<object, Socket>();
let isChanging = false;

/** Notes, in the event of a request, whose parser is running. Returns the function that forgets it. */
export function noteParser(socket: Socket): () => void {
  const id = executionAsyncId();
  byParser.set(id, socket);
  return () => void byParser.delete(id);
}

/** Runs work that belongs to a connection outside its own events. */
export function runFor(socket: Socket, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (typeof error === 'object' && error !== null) threw.set(error, socket);
    throw error;
  }
}

/**
 * Finds the connection to blame for the uncaught exception being reported: it left an event of that connection's
 * parser, or a callback that this deferred to the end of its turn, and no change of the state had begun there. Null
 * unless that is certain.
 */
export function connectionToBlame(error: unknown): Socket | null {
  if (isChanging) return null;
  const known = typeof error === 'object' && error !== null ? threw.get(error) : undefined;
  if (known !== undefined) return known;
  const resource: { readonly socket?: unknown } = executionAsyncResource();
  if (resource.socket instanceof Socket) return resource.socket;
  // A deferred callback has a bare object as its resource; a timer, which belongs to no connection, does not.
  const isPutOff = Object.getPrototypeOf(resource) === Object.prototype;
  return isPutOff ? (byParser.get(triggerAsyncId()) ?? null) : null;
}

/** Notes that a change of the state begins: what this turn throws then concerns more than one connection. */
export function changeBegins(): void {
  isChanging = true;
  queueMicrotask(endChange);
}

function endChange(): void {
  isChanging = false;
}
