import { effectOf, matchRequest } from '../replay/format/effects.js';
import type { ProxiedRequest } from '../replay/record/proxy.js';
import { ClientRows } from './client-rows.js';
import { programOf, type ShadowReport } from './tally.js';
import type { Dropped } from './traffic.js';

/** The client and the operation that a request counts for, and what that may do. */
function countedAs({ client, method, path }: ProxiedRequest) {
  const request = { method, path, root: 'server' } as const;
  const matched = matchRequest(request);
  return {
    client: programOf(client.slice(client.indexOf(' ') + 1)),
    operation: matched?.operation.name ?? (method === 'OPTIONS' ? 'cors' : 'unmatched'),
    effect: effectOf(request, matched),
  };
}

/** Accounts for every request, also for those that the worker never comes to: they were dropped, wait for it, or are still open at the end. */
export class Account {
  /** The worker's last. */
  #report: ShadowReport;
  /** The number of exchanges that are in it. */
  #taken = 0;
  /** Exchanges that the worker was handed and that are not in its report, in their order. */
  readonly #waiting: ProxiedRequest[] = [];
  readonly #open = new Map<number, ProxiedRequest>();
  readonly #dropped = new ClientRows();
  #lost: string | null = null;

  constructor(empty: ShadowReport) {
    this.#report = empty;
  }

  begun(request: ProxiedRequest): void {
    this.#open.set(request.sequence, request);
  }

  handed(request: ProxiedRequest): void {
    this.#open.delete(request.sequence);
    this.#waiting.push(request);
  }

  /** Returns the operation of a write, which is lost to the shadow; null for what changes nothing. */
  dropped(request: ProxiedRequest, why: Dropped): string | null {
    this.#open.delete(request.sequence);
    const { client, operation, effect } = countedAs(request);
    this.#dropped.leaveOut(client, operation, why);
    return effect.kind === 'reads' ? null : operation;
  }

  /** Takes why no report comes any more. */
  lose(why: string): void {
    this.#lost = why;
  }

  /** Takes a report of the worker, which counts so many exchanges. */
  reported(report: ShadowReport, taken: number): void {
    this.#report = report;
    this.#waiting.splice(0, taken - this.#taken);
    this.#taken = taken;
  }

  /** Returns the report of what has come to its end. */
  report(): ShadowReport {
    return { ...withRows(this.#report, this.#dropped), waiting: this.#waiting.length, lost: this.#lost };
  }

  /** Returns the last report, in which what waits or is open is not compared. */
  last(): ShadowReport {
    const late = new ClientRows();
    for (const each of [...this.#waiting, ...this.#open.values()]) {
      const { client, operation } = countedAs(each);
      late.leaveOut(client, operation, 'the run ended before');
    }
    return { ...withRows(this.report(), late), waiting: 0, writtenAt: new Date().toISOString(), isLast: true };
  }
}

function withRows(report: ShadowReport, added: ClientRows): ShadowReport {
  const more = added.sorted();
  if (more.length === 0) return report;
  const rows = new ClientRows();
  for (const each of [...report.rows, ...more]) rows.add(each);
  const used = new Set(more.map(({ operation }) => operation));
  const { seen, unseen } = report.operations;
  return {
    ...report,
    requests: more.reduce((sum, row) => sum + row.seen, report.requests),
    rows: rows.sorted(),
    operations: {
      seen: [...seen, ...unseen.filter((each) => used.has(each))],
      unseen: unseen.filter((each) => !used.has(each)),
    },
  };
}
