import type { Server } from 'node:http';

/** Tells the bench where this server listens. */
export function announcePort(server: Server): void {
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the server does not listen on a port');
  process.send?.({ port: address.port });
}

/** Closes the server when the bench asks for it or is gone. */
export function endWithParent(close: () => Promise<unknown>): void {
  const end = () => {
    close().finally(() => process.exit(0));
  };
  process.once('SIGTERM', end);
  process.once('disconnect', end);
}

/**
 * So many counter changes a second, spread over ticks of 10 ms, going round the keys in an order like chance; round the first of
 * them alone where it is said how many.
 */
export function changeSteadily(
  keys: number,
  change: (index: number, round: number) => void,
): (perSecond: number, among?: number) => void {
  let timer: NodeJS.Timeout | undefined;
  let next = 0;
  return (perSecond, among = keys) => {
    clearInterval(timer);
    if (perSecond === 0) return;
    const began = performance.now();
    let made = 0;
    timer = setInterval(() => {
      const due = Math.floor(((performance.now() - began) * perSecond) / 1000);
      for (; made < due; made += 1) {
        // A prime step meets every key of 10,000 or 100,000 before it meets one again.
        change((next * 7919) % among, 1 + Math.floor(next / among));
        next += 1;
      }
    }, 10);
  };
}
