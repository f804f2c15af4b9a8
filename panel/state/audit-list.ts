import type { AuditEntry } from '../api/wire.js';
import { createStore } from '../store/store.js';
import { perWorkspace } from './per-workspace.js';
import { say, sayFailure } from './toasts.js';

/** The server's audit list. */
export const auditListOf = perWorkspace(({ server, session }) => {
  /** Null until it was read. */
  const entries = createStore<readonly AuditEntry[] | null>(null);
  let clearings = 0;
  session.onSignOut(() => entries.set(null));
  return {
    entries,
    /** Rejects as the call does. */
    async load(): Promise<void> {
      const asked = clearings;
      const fresh = await server.audit();
      // Cleared since it was asked: the answer may be older than that.
      if (clearings === asked) entries.set(fresh);
    },
    /** Clears the list for everybody, and says so. */
    async clear(): Promise<void> {
      try {
        await server.clearAudit();
        clearings += 1;
        entries.set([]);
        say('good', (words) => words('audit.cleared'));
      } catch (problem) {
        sayFailure(problem);
      }
    },
  };
});
