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
  type WebhookFigures,
  webhookFamilies,
} from './gateway-metrics.js';
import { registerDatabaseDurations, registerUpstreamCalls } from './home-durations.js';
import { type ProcessFigures, registerProcess } from './process-metrics.js';
import { registerFamilies } from './register-families.js';
import { createRequestCounts, registerRequests } from './request-counts.js';

/** Figures of a gateway and its other listeners. */
export interface WatchedFigures {
  readonly gateway: GatewayFigures;
  readonly home: readonly Family[];
  /** Null if connections are not counted. */
  readonly connections: (() => readonly ConnectionFigures[]) | null;
  /** Null without a feed. */
  readonly feed: (() => FeedFigures) | null;
  readonly dns: (() => DnsFigures) | null;
  readonly webhook: (() => WebhookFigures) | null;
}

/** All metrics for Prometheus. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Makes metrics in a registry of their own. */
export function createMetrics(figures: ProcessFigures) {
  const registry = new Registry();
  const endProcess = registerProcess(registry, figures);
  const requests = createRequestCounts();
  registerRequests(registry, requests);
  const logins = registerLogins(registry);
  return {
    /** Counts that are updated as events happen. */
    requests,
    logins,
    configuration: registerConfiguration(registry),
    upstreamCalls: registerUpstreamCalls(registry),
    databaseDurations: registerDatabaseDurations(registry),
    /** Adds the families that are read on request; called once. */
    watch({ gateway, home, connections, feed, dns, webhook }: WatchedFigures): void {
      for (const mount of gateway.mounts.filter(hasLogin)) logins.beginAtZero(labelsOf(mount));
      registerFamilies(registry, [...gatewayFamilies(gateway), ...home]);
      if (connections !== null) registerFamilies(registry, connectionFamilies(connections));
      if (feed !== null) registerFamilies(registry, feedFamilies(feed));
      if (dns !== null) registerFamilies(registry, dnsFamilies(dns));
      if (webhook !== null) registerFamilies(registry, webhookFamilies(webhook));
    },
    /** Returns the text format 0.0.4 of Prometheus. Its cost does not depend on the number of keys. */
    text: () => registry.metrics(),
    contentType: registry.contentType,
    close: endProcess,
  };
}
