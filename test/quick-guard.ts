import { ChildProcess } from 'node:child_process';
import { Socket as DatagramSocket } from 'node:dgram';
import { Server, Socket } from 'node:net';

/** Lets a quick test fail with the reason where it starts a process or opens a socket, which its imports did not tell. */
function refuse(what: string): () => never {
  return () => {
    throw new Error(`a quick test ${what}: name its file in SLOW of test/quick.ts`);
  };
}

Object.assign(ChildProcess.prototype, { spawn: refuse('starts a process') });
Object.assign(Server.prototype, { listen: refuse('listens on a socket') });
Object.assign(Socket.prototype, { connect: refuse('opens a connection') });
Object.assign(DatagramSocket.prototype, { bind: refuse('binds a socket'), send: refuse('sends a datagram') });
