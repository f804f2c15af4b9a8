import { Histogram, type Registry } from 'prom-client';
import { type Family, registerFamilies } from './family.js';
import { BOUNDS, type RequestCounts } from './request-counts.js';

const LABELS = ['mount', 'revision', 'operation', 'status'] as const;
const DURATION = 'keyway_http_request_duration_seconds';

/** A histogram whose values are counted elsewhere: observing each request through the library would cost more than answering it. */
class CountedHistogram extends Histogram<(typeof LABELS)[number] | 'le'> {
  readonly #counts: RequestCounts;

  constructor(registry: Registry, counts: RequestCounts) {
    super({
      name: DURATION,
      help: "Time from a request's head to the last part of its answer.",
      labelNames: [...LABELS],
      buckets: [...BOUNDS],
      registers: [registry],
    });
    this.#counts = counts;
  }

  override async get() {
    return { ...(await super.get()), values: this.#values() };
  }

  /** What the registry asks for in place of `get` when it writes text. */
  async getForPromString() {
    return this.get();
  }

  #values() {
    return this.#counts.series().flatMap(({ labels, count, seconds, upTo }) => [
      ...upTo.map((value, i) => ({
        metricName: `${DURATION}_bucket`,
        labels: { le: BOUNDS[i] ?? 0, ...labels },
        value,
      })),
      { metricName: `${DURATION}_bucket`, labels: { le: '+Inf', ...labels }, value: count },
      { metricName: `${DURATION}_sum`, labels, value: seconds },
      { metricName: `${DURATION}_count`, labels, value: count },
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
