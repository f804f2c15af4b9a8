import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { DEFAULT_DNS, type DnsConfig, type OutboundSettings } from '../../src/core/model.js';
import type { LogPort } from '../../src/core/ports.js';
import { createResolver, type Resolver, type ResolverOptions } from '../../src/dns/resolver.js';
import { CERTIFICATE } from './certificate.js';

export interface LogLine {
  readonly level: keyof LogPort;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

export interface TestResolver {
  readonly resolver: Resolver;
  readonly port: () => number;
  readonly lines: readonly LogLine[];
  readonly folder: string;
  /** Changes settings and waits until they are followed. */
  set(dns: Partial<DnsConfig>, outbound?: OutboundSettings | null): Promise<void>;
}

const cleanups: (() => Promise<unknown>)[] = [];

/** Has this done by `cleanUp`, last first. */
export function later(cleanup: () => Promise<unknown>): void {
  cleanups.push(cleanup);
}

export async function cleanUp(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'keyway-dns-'));
  later(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A running resolver on a free port of 127.0.0.1 that trusts the tests' certificate, and is patient with upstreams. */
export async function startResolver(
  dns: Partial<DnsConfig>,
  options: Partial<ResolverOptions> & { readonly outbound?: OutboundSettings } = {},
): Promise<TestResolver> {
  const lines: LogLine[] = [];
  const logger = (level: keyof LogPort) => (fields: Readonly<Record<string, unknown>>, message: string) => {
    lines.push({ level, fields, message });
  };
  const folder = options.copyFolder ?? (await temporaryFolder());
  const resolver = createResolver({
    copyFolder: folder,
    listFolder: null,
    clock: { now: () => Date.now(), monotonic: () => performance.now() },
    log: { debug: logger('debug'), info: logger('info'), warn: logger('warn'), error: logger('error') },
    ca: [CERTIFICATE],
    attemptTimeout: 20_000,
    ...options,
  });
  later(() => resolver.close());
  let settings: DnsConfig = { ...DEFAULT_DNS, enabled: true, localPort: 0, ...dns };
  let outbound = options.outbound ?? null;
  resolver.configure(settings, outbound);
  resolver.start();
  await resolver.settled();
  return {
    resolver,
    port: () => resolver.stats().listening?.port ?? 0,
    lines,
    folder,
    async set(change, route) {
      settings = { ...settings, ...change };
      if (route !== undefined) outbound = route;
      resolver.configure(settings, outbound);
      await resolver.settled();
    },
  };
}

/** Outbound routing whose default is `action`. */
export function outboundVia(port: number, settings: Partial<OutboundSettings> = {}): OutboundSettings {
  return {
    enabled: true,
    protocol: 'socks5',
    address: '127.0.0.1',
    port,
    defaultAction: 'proxy',
    rules: [],
    ...settings,
  };
}

/** Waits until something holds; rejects after a generous time. */
export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  await expect.poll(holds, { interval: 5, message: what }).toBe(true);
}
