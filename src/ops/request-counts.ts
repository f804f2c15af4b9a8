import { Histogram, type Registry } from 'prom-client';
import type { Family } from './family.js';
import { registerFamilies } from './register-families.js';

/** Labels of a request. All of them come from tables of our own, so no path or key of a request is among them. */
export interface RequestLabels {
  /** The path of the mount's API; empty if the request belongs to no mount. */
  readonly mount: string;
  readonly revision: string;
  readonly operation: string;
}

/** The answers to one operation of one mount with one status. */
export interface AnswerSeries {
  readonly labels: RequestLabels & { readonly status: string };
  readonly count: number;
  readonly seconds: number;
  /** The number of answers that took at most the bound at the same index. */
  readonly upTo: readonly number[];
}

/** Upper bounds of time, in seconds. */
export const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1, 5] as const;

/** Counts answers and how long they took. Counting one takes no memory and a few dozen nanoseconds. */
export type RequestCounts = ReturnType<typeof createRequestCounts>;

const MILLISECONDS = BOUNDS.map((seconds) => seconds * 1000);
/**
 * A row holds the number of answers in each interval between two bounds, then the number above all bounds, then the sum
 * of times.
 */
const LONGER = BOUNDS.length;
const SUM = LONGER + 1;

interface Counted {
  readonly labels: RequestLabels;
  readonly byStatus: Map<number, Float64Array>;
}

export function createRequestCounts() {
  const all = new Map<string, Counted>();

  function counted(labels: RequestLabels): Counted {
    const key = JSON.stringify([labels.mount, labels.revision, labels.operation]);
    const found = all.get(key) ?? { labels, byStatus: new Map() };
    all.set(key, found);
    return found;
  }

  return {
    /** Returns the function that counts an answer by its status and its milliseconds. The same labels share one row. */
    counting(labels: RequestLabels): (status: number, milliseconds: number) => void {
      const { byStatus } = counted(labels);
      return (status, milliseconds) => {
        let row = byStatus.get(status);
        if (row === undefined) {
          row = new Float64Array(SUM + 1);
          byStatus.set(status, row);
        }
        let bucket = 0;
        while (bucket < LONGER && milliseconds > (MILLISECONDS[bucket] ?? 0)) bucket += 1;
        row[bucket] = (row[bucket] ?? 0) + 1;
        row[SUM] = (row[SUM] ?? 0) + milliseconds;
      };
    },
    /** Returns the series that have occurred. */
    series: (): readonly AnswerSeries[] =>
      [...all.values()].flatMap(({ labels, byStatus }) =>
        [...byStatus].map(([status, row]) => seriesOf({ ...labels, status: String(status) }, row)),
      ),
  };
}

function seriesOf(labels: AnswerSeries['labels'], row: Float64Array): AnswerSeries {
  let count = 0;
  const upTo = BOUNDS.map((_bound, bucket) => {
    count += row[bucket] ?? 0;
    return count;
  });
  return { labels, count: count + (row[LONGER] ?? 0), seconds: (row[SUM] ?? 0) / 1000, upTo };
}

const LABELS = ['mount', 'revision', 'operation', 'status'] as const;
const DURATION = {
  name: 'keyway_http_request_duration_seconds',
  help: "Time from a request's head to its answer, without the sending of a long one.",
} as const;

/**
 * A histogram whose values are counted elsewhere, because observing each request through the library would cost more
 * than answering it.
 */
class CountedHistogram extends Histogram<(typeof LABELS)[number] | 'le'> {
  readonly #counts: RequestCounts;

  constructor(registry: Registry, counts: RequestCounts) {
    super({
      ...DURATION,
      labelNames: [...LABELS],
      buckets: [...BOUNDS],
      registers: [registry],
    });
    this.#counts = counts;
  }

  /** Called by the registry and the library's own `get`; prom-client 15 has it, but its types do not. */
  async getForPromString() {
    return { ...DURATION, type: 'histogram', aggregator: 'sum', values: this.#values() };
  }

  #values() {
    const { name } = DURATION;
    return this.#counts.series().flatMap(({ labels, count, seconds, upTo }) => [
      ...upTo.map((value, i) => ({
        metricName: `${name}_bucket`,
        labels: { le: BOUNDS[i] ?? 0, ...labels },
        value,
      })),
      { metricName: `${name}_bucket`, labels: { le: '+Inf', ...labels }, value: count },
      { metricName: `${name}_sum`, labels, value: seconds },
      { metricName: `${name}_count`, labels, value: count },
    ]);
  }
}

/** Registers requests and how long they took, by mount, operation and status. */
export function registerRequests(registry: Registry, counts: RequestCounts): void {
  const requests: Family = {
    name: 'keyway_http_requests_total',
    help: 'Requests answered, by mount (the path of its API), revision, operation and status.',
    type: 'counter',
    labelNames: LABELS,
    read: () => counts.series().map(({ labels, count }) => ({ labels: { ...labels }, value: count })),
  };
  registerFamilies(registry, [requests]);
  new CountedHistogram(registry, counts);
}
