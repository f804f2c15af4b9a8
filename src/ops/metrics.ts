import { Registry } from 'prom-client';
import { type DnsFigures, dnsFamilies } from './dns-metrics.js';
import { registerConfiguration, registerLogins } from './event-metrics.js';
import type { Family } from './family.js';
import {
  type ConnectionFigures,
  connectionFamilies,
  type FeedFigures,
  feedFamilies,
  type GatewayFigures,
  gatewayFamilies,
  hasLogin,
  labelsOf,
} from './gateway-metrics.js';
import { registerDatabaseDurations, registerUpstreamCalls } from './home-durations.js';
import { type ProcessFigures, registerProcess } from './process-metrics.js';
import { registerFamilies } from './register-families.js';
import { createRequestCounts, registerRequests } from './request-counts.js';

/** Figures of a gateway and what stands beside it. */
export interface WatchedFigures {
  readonly gateway: GatewayFigures;
  readonly home: readonly Family[];
  /** Null where nobody counts them. */
  readonly connections: (() => readonly ConnectionFigures[]) | null;
  /** Null where there is none. */
  readonly feed: (() => FeedFigures) | null;
  readonly dns: (() => DnsFigures) | null;
}

/** All that Prometheus is told. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Makes metrics in a registry of their own. */
export function createMetrics(figures: ProcessFigures) {
  const registry = new Registry();
  const endProcess = registerProcess(registry, figures);
  const requests = createRequestCounts();
  registerRequests(registry, requests);
  const logins = registerLogins(registry);
  return {
    /** Counts that are taken as it happens. */
    requests,
    logins,
    configuration: registerConfiguration(registry),
    upstreamCalls: registerUpstreamCalls(registry),
    databaseDurations: registerDatabaseDurations(registry),
    /** Adds what is read when somebody asks; once. */
    watch({ gateway, home, connections, feed, dns }: WatchedFigures): void {
      for (const mount of gateway.mounts.filter(hasLogin)) logins.beginAtZero(labelsOf(mount));
      registerFamilies(registry, [...gatewayFamilies(gateway), ...home]);
      if (connections !== null) registerFamilies(registry, connectionFamilies(connections));
      if (feed !== null) registerFamilies(registry, feedFamilies(feed));
      if (dns !== null) registerFamilies(registry, dnsFamilies(dns));
    },
    /** The text format 0.0.4 of Prometheus. Its cost does not depend on the number of keys. */
    text: () => registry.metrics(),
    contentType: registry.contentType,
    close: endProcess,
  };
}
