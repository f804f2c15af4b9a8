import type { MaybeAsync } from './maybe-async.js';
import type { AuditEntry } from './model.js';
import type { ClockPort, RandomPort } from './ports.js';

/** Protocol: "Limits": audit list length. */
export const AUDIT_LENGTH = 100;

/** The members of an entry that its caller gives. */
export type AuditEvent = Pick<AuditEntry, 'eventEn' | 'eventRu' | 'success'>;

/**
 * The audit list (protocol: "Audit list"). Where somebody else holds it, each fails with `backendAway` where there is
 * no answer.
 */
export interface Audit {
  /** Returns the entries, newest first; the same array until the list changes. */
  list(): MaybeAsync<readonly AuditEntry[]>;
  add(event: AuditEvent): MaybeAsync<void>;
  clear(): MaybeAsync<void>;
  /** Tells whether the holder of the list asks for a credential, in which case no revision gives it out without one. */
  isProtected(): boolean;
}

/** Keeps the list in the memory of this process. */
export interface LocalAudit extends Audit {
  list(): readonly AuditEntry[];
  add(event: AuditEvent): void;
  clear(): void;
}

export function createAudit(clock: ClockPort, random: RandomPort): LocalAudit {
  let entries: readonly AuditEntry[] = [];
  return {
    list: () => entries,
    add(event) {
      entries = [createAuditEntry(event, clock, random), ...entries].slice(0, AUDIT_LENGTH);
    },
    clear() {
      entries = [];
    },
    isProtected: () => false,
  };
}

/** An entry that is made here and now. */
export function createAuditEntry(event: AuditEvent, clock: ClockPort, random: RandomPort): AuditEntry {
  return {
    id: random.bytes(8).readBigUInt64BE().toString(16),
    time: localTime(clock.now()),
    eventEn: event.eventEn,
    eventRu: event.eventRu,
    success: event.success,
  };
}

function localTime(milliseconds: number): string {
  const date = new Date(milliseconds);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':');
}
