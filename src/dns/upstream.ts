import { isUrl, upstreamLabel, upstreamPlace } from '../wire/dns-values.js';
import type { Connections } from './connections.js';
import { createDohUpstream, type DohMessage, type DohQuestion } from './doh.js';
import { StreamUpstream } from './stream-upstream.js';
import { createUdpUpstream } from './udp-upstream.js';

/** A resolver that Keyway asks. */
export interface Upstream {
  /** Its name in logs, without the path, which may be a secret. */
  readonly label: string;
  /** Its name for callers who may read the settings. */
  readonly shown: string;
  /** Makes one exchange. Rejects with an error whose message is one clause. */
  ask(question: DohQuestion, signal: AbortSignal): Promise<DohMessage>;
  /** Closes its own connections. */
  close(): void;
}

/**
 * Returns the resolver that a text names (see `upstreamPlace`; http is accepted, too); null if it names none. An attempt
 * at it ends after `attemptTimeout` milliseconds.
 */
export function createUpstream(text: string, connections: Connections, attemptTimeout: number): Upstream | null {
  const trimmed = text.trim();
  if (/^https?:\/\//i.test(trimmed)) {
    if (!isUrl(trimmed)) return null;
    const doh = createDohUpstream(trimmed, connections);
    return { label: new URL(trimmed).host, shown: trimmed, ask: doh.ask, close: () => undefined };
  }
  const place = upstreamPlace(trimmed);
  if (place === null || place.carrier === 'https') return null;
  const { carrier, host, port } = place;
  const label = upstreamLabel(trimmed);
  const stream = new StreamUpstream({ host, port, isTls: carrier === 'tls' }, connections);
  if (carrier !== 'udp')
    return { label, shown: label, ask: (...asked) => stream.ask(...asked), close: () => stream.close() };
  const udp = createUdpUpstream({ host, port, again: attemptTimeout / 3 }, connections, stream);
  return { label, shown: label, ask: udp.ask, close: () => stream.close() };
}
