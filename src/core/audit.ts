import type { AuditEntry } from './model.js';
import type { ClockPort, RandomPort } from './ports.js';

/** Protocol: "Limits": audit list length. */
export const AUDIT_LENGTH = 100;

/** The in-memory audit list (protocol: "Audit list"), newest first. */
export interface Audit {
  /** The same array until the list changes, then another one. */
  list(): readonly AuditEntry[];
  add(event: Pick<AuditEntry, 'eventEn' | 'eventRu' | 'success'>): void;
  clear(): void;
}

export function createAudit(clock: ClockPort, random: RandomPort): Audit {
  let entries: readonly AuditEntry[] = [];
  return {
    list: () => entries,
    add(event) {
      const entry: AuditEntry = {
        id: random.bytes(8).readBigUInt64BE().toString(16),
        time: localTime(clock.now()),
        eventEn: event.eventEn,
        eventRu: event.eventRu,
        success: event.success,
      };
      entries = [entry, ...entries].slice(0, AUDIT_LENGTH);
    },
    clear() {
      entries = [];
    },
  };
}

function localTime(milliseconds: number): string {
  const date = new Date(milliseconds);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':');
}
