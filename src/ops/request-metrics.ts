import { Histogram, type Registry } from 'prom-client';
import { type Family, registerFamilies } from './family.js';
import { BOUNDS, type RequestCounts } from './request-counts.js';

const LABELS = ['mount', 'revision', 'operation', 'status'] as const;
const DURATION = {
  name: 'keyway_http_request_duration_seconds',
  help: "Time from a request's head to its answer, without the sending of a long one.",
} as const;

/** A histogram whose values are counted elsewhere: observing each request through the library would cost more than answering it. */
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

  /** Read by the registry and the library's own `get`; prom-client 15 has it, and its types do not. */
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

/** Requests and how long they took, by mount, operation and status. */
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
