import type { UpstreamAnnouncement, UpstreamServer } from '../../client/server.js';
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
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | null = null;

  async function ask(accessKey: string): Promise<void> {
    askedAt = clock.monotonic();
    try {
      const { value } = await server.subscription(accessKey, 'poll');
      if (value === undefined) return;
      const isSame = JSON.stringify(value) === JSON.stringify(known);
      known = value;
      if (!isSame) onChange();
    } catch {
      // The known announcement stays; a request for the key itself is told of the trouble.
    } finally {
      asking = null;
    }
  }

  return {
    /** Null until it was learnt. */
    known: (): UpstreamAnnouncement | null => known,
    /** Learns it by this key where it is not known, and again from time to time. Never rejects. */
    learn(accessKey: string): Promise<void> | undefined {
      if (clock.monotonic() - askedAt >= MOST_AGE) asking ??= ask(accessKey);
      return known === null ? (asking ?? undefined) : undefined;
    },
    /** The server may announce itself otherwise from now on. */
    forget(): void {
      askedAt = Number.NEGATIVE_INFINITY;
    },
  };
}
