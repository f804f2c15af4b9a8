import type { UpstreamServer } from '../../client/server.js';
import type { MaybeAsync } from '../../core/maybe-async.js';
import { DEFAULT_PUBLISHED, type Published, type ServerConfiguration } from '../../core/model.js';
import type { ClockPort } from '../../core/ports.js';
import type { ConfigurationAccess } from './configuration.js';

export interface KnownPublishedOptions {
  readonly server: Pick<UpstreamServer, 'line'>;
  readonly configuration: Pick<ConfigurationAccess, 'read'>;
  readonly clock: ClockPort;
}

/** After a failure, ms. */
const AGAIN = 60_000;

/** Where clients find the server and their subscriptions, as its configuration says: read when it is first asked for. */
export function createKnownPublished({ server, configuration, clock }: KnownPublishedOptions) {
  let known = DEFAULT_PUBLISHED;
  let isKnown = false;
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | null = null;

  /** What a configuration says of it. */
  function take({ published }: Pick<ServerConfiguration, 'published'>): void {
    known = published;
    isKnown = true;
  }

  async function ask(): Promise<void> {
    askedAt = clock.monotonic();
    try {
      take((await configuration.read('poll')).value.configuration);
    } catch {
      // What was known goes on.
    } finally {
      asking = null;
    }
  }

  return {
    now: (): Published => known,
    take,
    /** Reads it where it is not known. Never rejects. */
    learn(): MaybeAsync<void> {
      if (isKnown || server.line()?.capabilities.config === undefined) return undefined;
      if (asking === null && clock.monotonic() - askedAt < AGAIN) return undefined;
      asking ??= ask();
      return asking;
    },
    /** The server may say something else from now on. */
    forget(): void {
      isKnown = false;
      askedAt = Number.NEGATIVE_INFINITY;
    },
  };
}
