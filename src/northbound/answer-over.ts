import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Callbacks for the end of a connection: one listener for each connection, however many answers are due on it. */
const due = new WeakMap<Socket, Set<() => void>>();

/**
 * Calls back once, when the answer has been sent or never will be. Node does not report the end of an answer that is
 * queued behind others on its connection, so a client that pipelines requests and hangs up would otherwise go
 * unnoticed.
 */
export function whenAnswerIsOver(response: ServerResponse, socket: Socket, over: () => void): void {
  if (socket.destroyed) {
    over();
    return;
  }
  const waiting = due.get(socket) ?? listenTo(socket);
  waiting.add(end);
  response.once('close', end);

  function end(): void {
    if (waiting.delete(end)) over();
  }
}

function listenTo(socket: Socket): Set<() => void> {
  const waiting = new Set<() => void>();
  due.set(socket, waiting);
  socket.once('close', () => {
    for (const end of waiting) end();
  });
  return waiting;
}
