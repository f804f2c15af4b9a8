import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import type { Connections } from './connections.js';
import { type DohMessage, type DohQuestion, writeDohQuery } from './doh.js';
import { FLAG, HEADER_BYTES, hasQuestion } from './message.js';
import type { StreamUpstream } from './stream-upstream.js';

/**
 * Creates an upstream that is asked over UDP, each question from its own port and with its own id, and over TCP if the
 * answer is truncated or a proxy is used. A datagram may have been lost: it is sent again after `again` milliseconds.
 */
export function createUdpUpstream(
  { host, port, again }: { readonly host: string; readonly port: number; readonly again: number },
  connections: Connections,
  stream: StreamUpstream,
) {
  async function exchange(question: DohQuestion, signal: AbortSignal): Promise<Buffer> {
    const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
    const id = randomInt(0x1_0000);
    const query = writeDohQuery(question);
    query.writeUInt16BE(id, 0);
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<Buffer>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
        socket.on('error', reject);
        socket.on('message', (message) => {
          // Anything but the answer to this question may come from anybody.
          const isAnswer =
            message.length >= HEADER_BYTES && message.readUInt16BE(0) === id && hasQuestion(message, question.bytes);
          if (isAnswer) resolve(message);
        });
        socket.connect(port, host, (error?: Error) => {
          if (error !== undefined) {
            reject(error);
            return;
          }
          socket.send(query);
          timer = setTimeout(() => socket.send(query), again).unref();
        });
      });
    } finally {
      clearTimeout(timer);
      socket.close();
    }
  }

  return {
    async ask(question: DohQuestion, signal: AbortSignal): Promise<DohMessage> {
      if ((await connections.routeTo(host)) === 'proxy') return stream.ask(question, signal);
      const message = Buffer.from(await exchange(question, signal));
      if ((message.readUInt16BE(2) & FLAG.truncated) !== 0) return stream.ask(question, signal);
      message.writeUInt16BE(0, 0);
      return { message, age: 0 };
    },
  };
}
