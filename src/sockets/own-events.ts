import { IncomingMessage, type Server, type ServerOptions, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

/** One event of a connection while its listeners run. */
interface OwnEvent {
  readonly socket: Socket;
  /** A change to the state began within it. */
  changed: boolean;
}

let running: OwnEvent | null = null;
const interrupted = new WeakMap<object, OwnEvent>();

/**
 * The connection that an uncaught exception may be blamed on: it left the listeners of an event of this connection, and
 * nothing that ran there had begun to change the state. Null where that is not known for certain.
 */
export function connectionToBlame(error: unknown): Socket | null {
  const event = typeof error === 'object' && error !== null ? interrupted.get(error) : undefined;
  return event === undefined || event.changed ? null : event.socket;
}

/** To be called where a change to the state begins: what is thrown by the event that runs is then nobody's own affair. */
export function changeBegins(): void {
  if (running !== null) running.changed = true;
}

function runOwn(socket: Socket, emit: () => boolean): boolean {
  const outer = running;
  // An exception leaves the outer event, too.
  if (outer?.socket === socket) return emit();
  const event: OwnEvent = { socket, changed: false };
  running = event;
  try {
    return emit();
  } catch (error) {
    if (typeof error === 'object' && error !== null) interrupted.set(error, event);
    throw error;
  } finally {
    running = outer;
    if (outer !== null && event.changed) outer.changed = true;
  }
}

/** The connection in the events of an HTTP server that tell of one. */
const SOCKET_OF: Readonly<Record<string, (first: unknown, second: unknown) => unknown>> = {
  connection: (socket) => socket,
  secureConnection: (socket) => socket,
  request: socketOfRequest,
  checkContinue: socketOfRequest,
  checkExpectation: socketOfRequest,
  connect: (_request, socket) => socket,
  upgrade: (_request, socket) => socket,
  clientError: (_error, socket) => socket,
  tlsClientError: (_error, socket) => socket,
};

function socketOfRequest(request: unknown): unknown {
  return request instanceof IncomingMessage ? request.socket : null;
}

/** Has what is thrown in the events of a server's connections, of their requests and of their answers known as theirs. */
export function ownEvents<S extends Server>(server: S): S {
  const emit = server.emit.bind(server);
  server.emit = (name: string, ...values: unknown[]): boolean => {
    const socket = SOCKET_OF[name]?.(values[0], values[1]);
    if (!(socket instanceof Socket)) return emit(name, ...values);
    if (name === 'connection' || name === 'secureConnection') ownSocket(socket);
    return runOwn(socket, () => emit(name, ...values));
  };
  return server;
}

function ownSocket(socket: Socket): void {
  const emit = socket.emit.bind(socket);
  socket.emit = (name: string | symbol, ...values: unknown[]) => runOwn(socket, () => emit(name, ...values));
}

class OwnRequest extends IncomingMessage {
  override emit(name: string | symbol, ...values: unknown[]): boolean {
    return runOwn(this.socket, () => super.emit(name, ...values));
  }
}

class OwnResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  override emit(name: string | symbol, ...values: unknown[]): boolean {
    return runOwn(this.req.socket, () => super.emit(name, ...values));
  }
}

/** The requests and answers of a server that `ownEvents` is for: what it is made with. */
export const OWN_MESSAGES: Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'> = {
  IncomingMessage: OwnRequest,
  ServerResponse: OwnResponse,
};
