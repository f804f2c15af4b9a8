import type { LogPort } from '../core/ports.js';
import type { OpenUpstream } from '../gateway/upstream.js';
import { lossesShown } from '../southbound/losses.js';
import type { Revision } from '../wire/traits/revision.js';
import { isLoopback } from './open-mounts.js';

/** Says what stands behind this gateway, and what of it its mounts cannot show; again where it becomes a server of another line. */
export function reportUpstream({ server }: OpenUpstream, mounts: readonly Revision[], log: LogPort): void {
  const { protocol, hostname } = new URL(server.name);
  if (protocol === 'http:' && !isLoopback(hostname))
    log.warn(
      { upstream: server.name },
      'the server is called without TLS: whoever is on the way reads its credential and every key',
    );
  let reported: Revision | null = null;
  const report = () => {
    const line = server.line();
    if (line === null || line === reported) return;
    reported = line;
    const sentences = new Set(lossesShown(line, mounts).map(({ sentence }) => sentence));
    for (const loss of sentences) log.warn({ upstream: server.name, line: line.id }, loss);
  };
  report();
  server.onChange(report);
}
