import type { ReportOutcome, UsageReport } from '../../../core/backend.js';
import { keyDigest } from '../../../core/key-digest.js';
import type { KeyRegistry } from '../../../core/keys/registry.js';
import type { LogPort } from '../../../core/ports.js';
import { createRememberedReports } from './remembered-reports.js';

export type Usage = ReturnType<typeof createUsage>;

/** The counting of reports. */
export function createUsage(keys: KeyRegistry, log: LogPort) {
  const reports = createRememberedReports();
  const full = new Set<string>();

  return {
    reports,
    /** Counts the report, whole and in this turn of the event loop, unless its id is remembered. Durability is the store's. */
    count({ id, entries }: UsageReport): Omit<ReportOutcome, 'durability'> {
      if (id !== null && reports.has(id)) {
        const unknown = entries.flatMap(({ accessKey }) => (keys.get(accessKey) === undefined ? [accessKey] : []));
        return { repeated: true, unknownKeys: [...new Set(unknown)] };
      }
      const outcome = keys.addUsage(entries);
      if (id !== null) reports.add(id);
      for (const accessKey of outcome.full) {
        if (full.has(accessKey)) continue;
        full.add(accessKey);
        log.warn({ key: keyDigest(accessKey) }, 'a counter has reached 2^64-1 and stays there');
      }
      return { repeated: false, unknownKeys: [...new Set(outcome.unknown)] };
    },
  };
}
