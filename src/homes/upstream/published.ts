import { DomainError } from '../../core/errors.js';
import type { MaybeAsync } from '../../core/maybe-async.js';
import { type AnnouncedServer, DEFAULT_PUBLISHED, type Published, type ServerConfiguration } from '../../core/model.js';
import { announcedBy } from '../../document/published-sections.js';
import { type ConfigurationAccess, REPLACEABLE } from './configuration.js';
import type { UpstreamContext } from './context.js';

export interface KnownPublishedOptions extends UpstreamContext {
  readonly configuration: Pick<ConfigurationAccess, 'read'>;
}

/** After a failure, ms: while something is known, and before. */
const AGAIN = { known: 60_000, unknown: 5_000 };

/** Reads where clients find the server and their subscriptions out of its configuration, when that is first asked for. */
export function createKnownPublished({ server, configuration, clock }: KnownPublishedOptions) {
  let known: Published | null = null;
  let announced: Partial<AnnouncedServer> = {};
  let isCurrent = false;
  let failure: unknown = new DomainError('upstreamAway', 'the server has not answered since Keyway started', 5);
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | null = null;

  function take(configuration: Pick<ServerConfiguration, 'listen' | 'published'>): void {
    known = configuration.published;
    announced = announcedBy(configuration, null);
    isCurrent = true;
  }

  async function ask(): Promise<void> {
    askedAt = clock.monotonic();
    try {
      take((await configuration.read('poll')).value.configuration);
    } catch (error) {
      // Known values go on; a server that has nothing to be read publishes nothing.
      if (error instanceof DomainError && REPLACEABLE.has(error.code)) known ??= DEFAULT_PUBLISHED;
      failure = error;
    } finally {
      asking = null;
    }
  }

  function expectKnown(): void {
    if (known === null) throw failure;
  }

  return {
    now: (): Published => known ?? DEFAULT_PUBLISHED,
    /** The host and port that its links name, as far as its configuration tells: for a server without a key to ask it by. */
    announced: () => announced,
    take,
    /** Reads it where it is not known. Rejects where that failed and it never was. */
    learn(): MaybeAsync<void> {
      const line = server.line();
      if (isCurrent || (line !== null && line.capabilities.config === undefined)) return undefined;
      const wait = known === null ? AGAIN.unknown : AGAIN.known;
      if (line === null || (asking === null && clock.monotonic() - askedAt < wait)) return expectKnown();
      asking ??= ask();
      return asking.then(expectKnown);
    },
    /** The server may say something else from now on. */
    forget(): void {
      isCurrent = false;
      askedAt = Number.NEGATIVE_INFINITY;
    },
  };
}
