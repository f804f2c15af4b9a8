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
  /** Keyway's own. */
  readonly version: string;
  readonly readiness: Readiness;
  /** Absent where nobody limits them. */
  readonly connections?: Connections;
}

/** The operator's listener. It opens before the gateway is composed and closes after it, to tell of both. */
export type RunningOps = Awaited<ReturnType<typeof startOps>>;

/** Null where there is none. */
export interface Beside {
  readonly feed: Feed | null;
  readonly resolver: Resolver | null;
}

/** For so long what stands behind is looked at after health or metrics were asked for, ms. */
const WATCHED = 60_000;

/** Opens the operator's listener. Rejects with a `StartError` when the address cannot be had. */
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
      /** From now on health and metrics are those of this gateway, and of what stands beside it. Once. */
      watch(gateway: Gateway, beside: Beside): void {
        const { backend, home } = gateway;
        const problems = () => {
          backend.replica?.watch(WATCHED);
          return backend.problems();
        };
        present = { problems, kinds: () => home.problemKinds };
        state = home.identity;
        watch(metrics, gateway, health, { ...beside, connections: connections ?? null });
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
  { feed, resolver, connections }: Beside & { readonly connections: Connections | null },
): void {
  const { mounts, backend, home, tokens, use } = gateway;
  metrics.watch({
    gateway: { mounts, keys: backend.keys, health, tokens: tokens.status },
    home: [...home.metrics(), useFamily(() => use.totals())],
    connections: connections === null ? null : connections.figures,
    feed: feed === null ? null : feed.status,
    dns: resolver === null ? null : () => resolver.stats(),
  });
}
