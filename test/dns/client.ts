import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import dnsPacket from 'dns-packet';

export interface Asked {
  readonly name: string;
  readonly type?: dnsPacket.RecordType;
  /** The UDP payload told by EDNS; absent for no EDNS. */
  readonly udpBytes?: number;
  readonly id?: number;
}

/** A query on the wire, as another implementation writes it. */
export function encodeQuery({ name, type = 'A', udpBytes, id = 4711 }: Asked): Buffer {
  const opt: dnsPacket.OptAnswer = {
    type: 'OPT',
    name: '.',
    udpPayloadSize: udpBytes ?? 0,
    extendedRcode: 0,
    ednsVersion: 0,
    flags: 0,
    flag_do: false,
    options: [],
  };
  return dnsPacket.encode({
    type: 'query',
    id,
    flags: dnsPacket.RECURSION_DESIRED,
    questions: [{ type, name }],
    additionals: udpBytes === undefined ? [] : [opt],
  });
}

/** The next reply over UDP to these bytes. Rejects when none comes in half a minute. */
export async function sendUdp(port: number, packet: Buffer, host = '127.0.0.1'): Promise<Buffer> {
  const socket = createSocket('udp4');
  try {
    socket.send(packet, port, host);
    const [reply] = await once(socket, 'message', { signal: AbortSignal.timeout(30_000) });
    if (!Buffer.isBuffer(reply)) throw new Error('it is no datagram');
    return reply;
  } finally {
    socket.close();
  }
}

/** Asks over UDP. */
export async function askUdp(port: number, asked: Asked): Promise<dnsPacket.DecodedPacket & { rcode: string }> {
  return decode(await sendUdp(port, encodeQuery(asked)));
}

/** Asks several questions on one TCP connection; the replies in the order in which they came. */
export async function askTcp(port: number, questions: readonly Asked[]) {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    for (const asked of questions) {
      const query = encodeQuery(asked);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(query.length);
      socket.write(Buffer.concat([length, query]));
    }
    const replies = [];
    let received = Buffer.alloc(0);
    for await (const chunk of socket) {
      received = Buffer.concat([received, chunk]);
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const end = 2 + received.readUInt16BE(0);
        replies.push(decode(received.subarray(2, end)));
        received = received.subarray(end);
      }
      if (replies.length === questions.length) break;
    }
    return replies;
  } finally {
    socket.destroy();
  }
}

export function decode(reply: Buffer): dnsPacket.DecodedPacket & { rcode: string } {
  const packet = dnsPacket.decode(reply);
  if (!('rcode' in packet) || typeof packet.rcode !== 'string') throw new Error('it has no code');
  return { ...packet, rcode: packet.rcode };
}

/** The data of the answers of one type. */
export function dataOf(packet: dnsPacket.DecodedPacket, type: dnsPacket.RecordType = 'A'): readonly unknown[] {
  return (packet.answers ?? []).flatMap((answer) => (answer.type === type && 'data' in answer ? [answer.data] : []));
}
