import { isIP } from 'node:net';
import type { LogPort } from '../core/ports.js';
import { reasonOf } from './failure-reason.js';
import { type Listener, openListener } from './listener.js';
import type { Responder } from './udp.js';

/** Keeps the two sockets where they are wanted, also when a port becomes free only later. */
export type KeptListener = ReturnType<typeof createKeptListener>;

export interface KeptListenerOptions {
  readonly respond: Responder;
  readonly log: LogPort;
  /** Milliseconds until a port that was taken is tried again. */
  readonly retryAfter: number;
  /** Called when it is time to try again. */
  readonly retry: () => void;
}

/** Creates it with no socket open. Calls of `listen` and `close` must not overlap. */
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

  /** Said once for a place; then it is tried again in silence. */
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
    /** Listens there instead of where it did. Never rejects: what stands in the way is logged, and tried again. */
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
    /** Closes, and tries no more. */
    close,
    current: (): Listener | null => listener,
  };
}
