import { isIP } from 'node:net';
import type { LogPort } from '../core/ports.js';
import { reasonOf } from './failure-reason.js';
import { openTcp } from './tcp.js';
import { type Door, openUdp, type Responder } from './udp.js';

export type Listener = Awaited<ReturnType<typeof openListener>>;

/** With port 0 the system chooses one for TCP, which another program may already have for UDP. */
const ATTEMPTS_AT_PORT_0 = 20;

/** Opens the resolver's sockets, UDP and TCP, on one port. Rejects with the system's error, and none open. */
async function openListener(address: string, port: number, respond: Responder) {
  for (let attempt = 1; ; attempt++) {
    const tcp = await openTcp(address, port, respond);
    try {
      const udp = await openUdp(address, tcp.port, respond);
      return { address, port: tcp.port, close: (): Promise<void> => closeBoth(udp, tcp) };
    } catch (error) {
      await tcp.close();
      if (port !== 0 || attempt === ATTEMPTS_AT_PORT_0) throw error;
    }
  }
}

async function closeBoth(udp: Door, tcp: Door): Promise<void> {
  await Promise.all([udp.close(), tcp.close()]);
}

/** Tells whether only this machine can reach an address (RFC 1122 section 3.2.1.3, RFC 4291 section 2.5.3). */
export function isLoopbackAddress(address: string): boolean {
  return isIP(address) === 4 ? address.startsWith('127.') : address === '::1';
}

/** Keeps the two sockets open at the wanted address, even if its port becomes free only later. */
export type KeptListener = ReturnType<typeof createKeptListener>;

export interface KeptListenerOptions {
  readonly respond: Responder;
  readonly log: LogPort;
  /** Milliseconds until a port in use is tried again. */
  readonly retryAfter: number;
  /** Called when it is time to try again. */
  readonly retry: () => void;
}

/** Creates a listener without open sockets. Calls of `listen` and `close` must not overlap. */
export function createKeptListener({ respond, log, retryAfter, retry }: KeptListenerOptions) {
  let listener: Listener | null = null;
  let timer: NodeJS.Timeout | undefined;
  let reported = '';

  async function close(): Promise<void> {
    clearTimeout(timer);
    const open = listener;
    listener = null;
    await open?.close();
  }

  /** Logs the problem once for an address; further attempts are silent. */
  function reportTaken(address: string, port: number, error: unknown): void {
    const place = `${address} ${port}`;
    if (place !== reported) {
      const advice = 'if the server whose file this is has it, use --no-resolver or another dns.local_port';
      const message = `the DNS server cannot listen, and will try again: ${advice}`;
      log.error({ address, port, reason: reasonOf(error) }, message);
    }
    reported = place;
    timer = setTimeout(retry, retryAfter).unref();
  }

  return {
    /**
     * Listens at this address instead of the previous one. Never rejects: a failure is logged, and tried again unless
     * the address is not an IP address.
     */
    async listen(address: string, port: number): Promise<void> {
      clearTimeout(timer);
      if (listener !== null && listener.address === address && (listener.port === port || port === 0)) return;
      await close();
      if (isIP(address) === 0) {
        log.error({ address }, 'dns.bind: expected an IP address; the DNS server does not run');
        return;
      }
      try {
        listener = await openListener(address, port, respond);
        reported = '';
        log.info({ address, port: listener.port }, 'the DNS server listens');
      } catch (error) {
        reportTaken(address, port, error);
      }
    },
    /** Closes the sockets and ends the attempts. */
    close,
    current: (): Listener | null => listener,
  };
}
