import { type Audit, createAudit } from '../../core/audit.js';
import type { AuditEntry } from '../../core/model.js';
import type { RandomPort } from '../../core/ports.js';
import type { UpstreamContext } from './context.js';
import type { StrangerGate } from './stranger-gate.js';

/** Everyone may ask for the list: for so long, ms, the last answer is given again. */
const KEPT = 1_000;

/** The server's audit list where its line has one, else one of this gateway's own. */
export function createServerAudit(
  { server, clock }: Pick<UpstreamContext, 'server' | 'clock'>,
  random: RandomPort,
  gate: StrangerGate,
): Audit {
  const own = createAudit(clock, random);
  const isThere = (): boolean => server.line()?.capabilities.audit !== undefined;
  let asked: { readonly at: number; readonly entries: Promise<readonly AuditEntry[]> } | null = null;

  function list(): Promise<readonly AuditEntry[]> {
    if (asked !== null && clock.monotonic() - asked.at < KEPT) return asked.entries;
    const entries = gate.take(() => server.listAudit()).then(({ value }) => value);
    asked = { at: clock.monotonic(), entries };
    return entries;
  }

  return {
    list: () => (isThere() ? list() : own.list()),
    async add(event) {
      if (isThere()) await gate.take(() => server.addAudit(event));
      else own.add(event);
      asked = null;
    },
    async clear() {
      if (isThere()) await server.clearAudit();
      else own.clear();
      asked = null;
    },
    isProtected: () => server.line()?.capabilities.audit?.access === 'protected',
  };
}
