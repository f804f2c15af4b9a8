import { connect } from 'node:net';

/**
 * Sends these bytes on one connection, half-closes it unless told otherwise, and resolves with everything that comes back. A
 * connection that is reset has ended, too: a server that has not read all of them may close it so.
 */
export function exchange(port: number, bytes: string | Buffer, halfClose = true): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    const over = () => resolve(Buffer.concat(chunks).toString());
    socket.on('end', () => {
      socket.end();
      over();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET' || error.code === 'EPIPE') over();
      else reject(error);
    });
    if (halfClose) socket.end(bytes);
    else socket.write(bytes);
  });
}
