import { upstreamLabel, upstreamPlace } from '../wire/dns-values.js';
import type { Connections } from './connections.js';
import { createDohUpstream, type DohMessage, type DohQuestion } from './doh.js';
import { StreamUpstream } from './stream-upstream.js';
import { createUdpUpstream } from './udp-upstream.js';

/** A resolver that is asked. */
export interface Upstream {
  /** Its name in logs: no path, which may be a secret. */
  readonly label: string;
  /** Its name for whoever may read the settings. */
  readonly shown: string;
  /** One exchange. Rejects with an error whose message is one clause. */
  ask(question: DohQuestion, signal: AbortSignal): Promise<DohMessage>;
  /** Ends what is open of its own. */
  close(): void;
}

/** The resolver that a text names (see `upstreamPlace`; http is taken, too); null where it names none. */
export function createUpstream(text: string, connections: Connections): Upstream | null {
  const trimmed = text.trim();
  if (/^https?:\/\//i.test(trimmed)) {
    if (!URL.canParse(trimmed)) return null;
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
  const udp = createUdpUpstream({ host, port }, connections, stream);
  return { label, shown: label, ask: udp.ask, close: () => stream.close() };
}
