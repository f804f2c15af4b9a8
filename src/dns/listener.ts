import { isIP } from 'node:net';
import { openTcp } from './tcp.js';
import { type Door, openUdp, type Responder } from './udp.js';

/** The resolver's two sockets. */
export interface Listener {
  readonly address: string;
  readonly port: number;
  close(): Promise<void>;
}

/** With port 0 the system chooses for TCP, and another program may have that port for UDP. */
const ATTEMPTS_AT_PORT_0 = 20;

/** Listens on one port over UDP and TCP. Rejects with the system's error; nothing stays open then. */
export async function openListener(address: string, port: number, respond: Responder): Promise<Listener> {
  for (let attempt = 1; ; attempt++) {
    const tcp = await openTcp(address, port, respond);
    try {
      const udp = await openUdp(address, tcp.port, respond);
      return { address, port: tcp.port, close: () => closeBoth(udp, tcp) };
    } catch (error) {
      await tcp.close();
      if (port !== 0 || attempt === ATTEMPTS_AT_PORT_0) throw error;
    }
  }
}

async function closeBoth(udp: Door, tcp: Door): Promise<void> {
  await Promise.all([udp.close(), tcp.close()]);
}

/** Tells whether an address is reached from this machine alone (RFC 1122 section 3.2.1.3, RFC 4291 section 2.5.3). */
export function isLoopbackAddress(address: string): boolean {
  return isIP(address) === 4 ? address.startsWith('127.') : address === '::1';
}
