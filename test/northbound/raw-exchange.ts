import { connect } from 'node:net';

/** Sends these bytes on one connection, half-closes it unless told otherwise, and resolves with everything that comes back. */
export function exchange(port: number, bytes: string | Buffer, halfClose = true): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('end', () => {
      socket.end();
      resolve(Buffer.concat(chunks).toString());
    });
    socket.on('error', reject);
    if (halfClose) socket.end(bytes);
    else socket.write(bytes);
  });
}
