import { Registry } from 'prom-client';
import type { ConfigurationObserverPort } from '../core/configuration-observer.js';
import { type DnsFigures, dnsFamilies } from './dns-metrics.js';
import { type LoginCounts, registerConfiguration, registerLogins } from './event-metrics.js';
import { type Family, registerFamilies } from './family.js';
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
import { registerDatabaseDurations, registerUpstreamCalls, type UpstreamCalls } from './home-durations.js';
import { type ProcessFigures, registerProcess } from './process-metrics.js';
import { createRequestCounts, type RequestCounts, registerRequests } from './request-counts.js';

/** Figures of a gateway and what stands beside it. */
export interface WatchedFigures {
  readonly gateway: GatewayFigures;
  /** The families of the home. */
  readonly home: readonly Family[];
  /** Null where nobody counts them. */
  readonly connections: (() => readonly ConnectionFigures[]) | null;
  /** Null where there is none. */
  readonly feed: (() => FeedFigures) | null;
  readonly dns: (() => DnsFigures) | null;
}

/** All that Prometheus is told. */
export interface Metrics {
  /** Counts that are taken as it happens. */
  readonly requests: RequestCounts;
  readonly logins: LoginCounts;
  readonly configuration: ConfigurationObserverPort;
  readonly upstreamCalls: UpstreamCalls;
  readonly databaseDurations: (operation: string, milliseconds: number) => void;
  /** Adds what is read when somebody asks; once. */
  watch(figures: WatchedFigures): void;
  /** The text format 0.0.4 of Prometheus. Its cost does not depend on the number of keys. */
  text(): Promise<string>;
  readonly contentType: string;
  /** Ends the gathering. */
  close(): void;
}

/** Makes metrics in a registry of their own. */
export function createMetrics(figures: ProcessFigures): Metrics {
  const registry = new Registry();
  const endProcess = registerProcess(registry, figures);
  const requests = createRequestCounts();
  registerRequests(registry, requests);
  const logins = registerLogins(registry);
  return {
    requests,
    logins,
    configuration: registerConfiguration(registry),
    upstreamCalls: registerUpstreamCalls(registry),
    databaseDurations: registerDatabaseDurations(registry),
    watch({ gateway, home, connections, feed, dns }) {
      for (const mount of gateway.mounts.filter(hasLogin)) logins.beginAtZero(labelsOf(mount));
      registerFamilies(registry, [...gatewayFamilies(gateway), ...home]);
      if (connections !== null) registerFamilies(registry, connectionFamilies(connections));
      if (feed !== null) registerFamilies(registry, feedFamilies(feed));
      if (dns !== null) registerFamilies(registry, dnsFamilies(dns));
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
    close: endProcess,
  };
}
