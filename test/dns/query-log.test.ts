import { expect, it } from 'vitest';
import type { DnsOutcome } from '../../src/core/model.js';
import { createQueryLog } from '../../src/dns/query-log.js';

const NOON = Date.parse('2026-11-30T12:00:00Z');
const HOUR = 3_600_000;

function logAt(time: number) {
  let now = time;
  const log = createQueryLog({ now: () => now, monotonic: () => now - time });
  const unknown = { rule: null, source: null, upstream: null, elapsed: 0 };
  return {
    ...log,
    goTo(next: number) {
      now = next;
    },
    ask(outcome: DnsOutcome) {
      const entry = { time: now, client: '192.0.2.1', name: 'a.example', type: 'A', outcome, ...unknown };
      log.add(entry);
      log.settle(entry, { outcome, upstream: null, elapsed: 1 });
    },
  };
}

it('questions of today are counted from the start or midnight in UTC on, and anew once the log is cleared', () => {
  const log = logAt(NOON);
  log.ask('blocked');
  log.ask('allowed');
  expect(log.today()).toEqual({ since: NOON, questions: 2, blocked: 1 });
  log.goTo(NOON + 11 * HOUR + 3_599_999);
  expect(log.today().questions).toBe(2);
  log.goTo(NOON + 12 * HOUR);
  expect(log.today()).toEqual({ since: NOON + 12 * HOUR, questions: 0, blocked: 0 });
  log.ask('blocked');
  log.goTo(NOON + 13 * HOUR);
  log.clear();
  expect(log.today()).toEqual({ since: NOON + 13 * HOUR, questions: 0, blocked: 0 });
  expect(log.figures().blocked).toBe(0);
});
