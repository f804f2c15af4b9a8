import { type Audit, createAudit } from '../../core/audit.js';
import type { ClockPort, RandomPort } from '../../core/ports.js';
import type { UpstreamServer } from '../server.js';

/** The server's audit list where its line has one, else one of this gateway's own. */
export function createServerAudit(
  server: Pick<UpstreamServer, 'line' | 'listAudit' | 'addAudit' | 'clearAudit'>,
  clock: ClockPort,
  random: RandomPort,
): Audit {
  const own = createAudit(clock, random);
  const isThere = (): boolean => server.line()?.capabilities.audit === true;
  return {
    list: () => (isThere() ? server.listAudit().then(({ value }) => value) : own.list()),
    async add(event) {
      if (isThere()) await server.addAudit(event);
      else own.add(event);
    },
    async clear() {
      if (isThere()) await server.clearAudit();
      else own.clear();
    },
  };
}
