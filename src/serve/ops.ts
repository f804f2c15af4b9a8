import type { Health } from '../core/backend.js';
import type { Readiness } from '../core/readiness.js';
import type { Resolver } from '../dns/resolver.js';
import type { Feed } from '../feed/feed.js';
import type { Gateway } from '../gateway/compose.js';
import type { GatewayObserver } from '../gateway/options.js';
import { createHostCheck } from '../northbound/allowed-hosts.js';
import { labelsOf } from '../ops/gateway-metrics.js';
import { createMetrics, type Metrics } from '../ops/metrics.js';
import { createOpsApp } from '../ops/ops-app.js';
import { useFamily } from '../ops/use-metrics.js';
import type { CountedLog } from '../platform/log.js';
import type { Settings } from '../settings/table.js';
import type { Connections } from './connections.js';
import { listenAt } from './listen.js';

const WORDS = { subject: 'the ops listener', remedy: 'give it another address with --ops-bind' };

export interface OpsSettings extends Pick<Settings, 'allowHosts'> {
  readonly opsBind: string;
  /** Keyway's version. */
  readonly version: string;
  readonly readiness: Readiness;
  /** Absent if connections are not limited. */
  readonly connections?: Connections;
}

/** The operator's listener. It opens before the gateway is composed and closes after it, to report on both. */
export type RunningOps = Awaited<ReturnType<typeof startOps>>;

/** The listeners next to the gateway; null for an absent one. */
export interface OtherListeners {
  readonly feed: Feed | null;
  readonly resolver: Resolver | null;
}

/** Milliseconds for which Keyway keeps checking the state after health or metrics were asked for. */
const WATCHED = 60_000;

/** Opens the operator's listener. Rejects with a `StartError` if it cannot listen on the address. */
export async function startOps(settings: OpsSettings, log: CountedLog) {
  const { opsBind: bind, version, readiness, allowHosts, connections } = settings;
  const metrics = createMetrics({ version, linesLost: log.linesLost });
  let present: Health = { problems: async () => [], kinds: () => ({}) };
  let state = (): string | null => null;
  const health: Health = { problems: () => present.problems(), kinds: () => present.kinds() };
  const server = connections === undefined ? {} : { createServer: connections.serverFor('ops') };
  const app = createOpsApp({
    readiness,
    health,
    state: () => state(),
    metrics,
    ...server,
    log,
    admitsHost: createHostCheck(allowHosts),
  });
  try {
    const url = await listenAt(app, bind, WORDS, log);
    log.info({ ops: url }, `health and metrics are served on ${url}`);
    return {
      /** `http://host:port` or `unix:PATH`. */
      url,
      /** For the composition of the gateway. */
      observer: observerOf(metrics),
      /** Makes health and metrics report on this gateway, and on the other listeners. Called once. */
      watch(gateway: Gateway, others: OtherListeners): void {
        const { backend, home, webhook } = gateway;
        const problems = async () => {
          backend.replica?.watch(WATCHED);
          return [...(await backend.problems()), ...(webhook?.problems() ?? [])];
        };
        const kinds = { ...home.problemKinds, ...webhook?.problemKinds };
        present = { problems, kinds: () => kinds };
        state = home.identity;
        watch(metrics, gateway, health, { ...others, connections: connections ?? null });
      },
      async close() {
        await app.close();
        metrics.close();
      },
    };
  } catch (error) {
    metrics.close();
    throw error;
  }
}

function observerOf({ requests, logins, configuration, upstreamCalls, databaseDurations }: Metrics): GatewayObserver {
  return {
    configuration,
    calls: upstreamCalls,
    database: databaseDurations,
    requests: {
      answersTo: (operation, mount) =>
        requests.counting({ ...(mount === null ? { mount: '', revision: '' } : labelsOf(mount)), operation }),
      login: (mount, outcome) => logins.count(labelsOf(mount), outcome),
    },
  };
}

function watch(
  metrics: Metrics,
  gateway: Gateway,
  health: Health,
  { feed, resolver, connections }: OtherListeners & { readonly connections: Connections | null },
): void {
  const { mounts, backend, home, tokens, use, webhook } = gateway;
  metrics.watch({
    gateway: { mounts, keys: backend.keys, health, tokens: tokens.status },
    home: [...home.metrics(), useFamily(() => use.totals())],
    webhook: webhook === null ? null : () => webhook.status(),
    connections: connections === null ? null : connections.figures,
    feed: feed === null ? null : feed.status,
    dns: resolver === null ? null : () => resolver.stats(),
  });
}
