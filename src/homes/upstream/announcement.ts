import type { UpstreamAnnouncement, UpstreamServer, UpstreamStatus } from '../../client/server.js';
import type { ClockPort } from '../../core/ports.js';

export type Announcement = ReturnType<typeof createAnnouncement>;

/** The age up to which it is used, ms. */
const MOST_AGE = 60_000;

/** The server's announcement to clients, learnt from its own subscription of some key. */
export function createAnnouncement(
  server: Pick<UpstreamServer, 'subscription'>,
  clock: ClockPort,
  onChange: () => void,
) {
  let known: UpstreamAnnouncement | null = null;
  let isForgotten = true;
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | null = null;

  async function ask(accessKey: string): Promise<void> {
    askedAt = clock.monotonic();
    try {
      const { value } = await server.subscription(accessKey, 'poll');
      if (value !== undefined) become(value);
    } catch {
      // The known announcement stays; a request for the key itself is told of the trouble.
    } finally {
      isForgotten = known === null;
      asking = null;
    }
  }

  function become(next: UpstreamAnnouncement): void {
    const isSame = JSON.stringify(next) === JSON.stringify(known);
    known = next;
    if (!isSame) onChange();
  }

  return {
    /** Null until it was learnt. */
    known: (): UpstreamAnnouncement | null => known,
    /** Learns it by this key where it is not known or may be another, and again from time to time. Never rejects. */
    learn(accessKey: string): Promise<void> | undefined {
      if (clock.monotonic() - askedAt >= MOST_AGE) asking ??= ask(accessKey);
      return isForgotten ? (asking ?? undefined) : undefined;
    },
    told(endpoint: UpstreamStatus['endpoint']): void {
      if (known === null || endpoint === null) return;
      const { host, port, ownDns } = endpoint;
      become({ ...known, host, port, ownDns });
    },
    /** The server may announce itself otherwise from now on: the next who asks waits for it. */
    forget(): void {
      isForgotten = true;
      askedAt = Number.NEGATIVE_INFINITY;
    },
  };
}
