import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import type { Backend } from '../../src/core/backend.js';
import { createCore } from '../../src/core/core.js';
import type { OutboundRule } from '../../src/core/model.js';
import type { LogPort } from '../../src/core/ports.js';
import { createNoResolver } from '../../src/dns/no-resolver.js';
import { openLocalBackend } from '../../src/homes/file/backend.js';
import { openUpstreamBackend } from '../../src/homes/upstream/backend.js';
import { createMemoryFiles } from '../../src/platform/memory-files.js';
import { systemRandom } from '../../src/platform/system-ports.js';
import { createFakeServer } from '../client/fake-server.js';
import { createMemoryBackend, type MemoryBackendOptions } from '../ports/memory-backend.js';
import { expectModelled, type Home } from './backend-model.js';

const log: LogPort = { debug() {}, info() {}, warn() {}, error() {} };

const HOMES: Readonly<Record<string, () => Promise<Home>>> = {
  'nothing but memory': async () => ({ backend: await local(null) }),
  'a configuration file': async () => ({ backend: await local('/etc/server.json') }),
  'elsewhere, with the keys in memory': async () => elsewhere({ hasLiveReads: false }),
  'elsewhere, with live reads': async () => elsewhere({ hasLiveReads: true }),
  'a running server': async () => runningServer(),
  'elsewhere, with keys in memory that follow it': async () => elsewhere({ hasLiveReads: true, isReplica: true }),
};

async function local(configPath: string | null): Promise<Backend> {
  const fileSystem = createMemoryFiles();
  if (configPath !== null) {
    await fileSystem.makeFolder('/etc', 0o700);
    const text = '{ "mode": "server", "access_keys": [], "outbound": { "enabled": true, "rules": [] } }';
    await fileSystem.create(configPath, Buffer.from(text), 0o600);
  }
  let time = 0;
  const clock = { now: () => 7, monotonic: () => time++ };
  return openLocalBackend({ configPath, fileSystem, clock, log, pollMilliseconds: 0, watch: false });
}

function elsewhere(options: MemoryBackendOptions): Home {
  const backend = createMemoryBackend(options);
  return { backend, outside: backend.outside };
}

/** By its own API. So much time passes between any two looks at the clock that every list is a new one. */
async function runningServer(): Promise<Home> {
  let time = 0;
  const monotonic = () => {
    time += 40_000;
    return time;
  };
  const [revision] = REVISIONS.filter(({ id }) => id === 'current');
  if (revision === undefined) throw new Error('there is no such line');
  const server = createFakeServer({ revision, monotonic, sleep: () => Promise.resolve() });
  const backend = await openUpstreamBackend({
    server,
    dataFolder: null,
    fileSystem: createMemoryFiles(),
    clock: { now: () => 7, monotonic },
    random: systemRandom,
    log,
    timers: { after: () => () => undefined, wait: () => Promise.resolve(), pause: () => Promise.resolve() },
  });
  return { backend, outside: server.outside, report: server.report };
}

describe.each(Object.entries(HOMES))('the core over a state that is kept in %s', (_place, open) => {
  it('does what the protocol says of keys and counters, whoever else changes them', () => expectModelled(open));
});

const RULE: OutboundRule = { domainSuffix: ['.onion'], ipCidr: [], protocol: null, action: 'proxy' };

describe.each([false, true])('a state elsewhere, with live reads: %s', (hasLiveReads) => {
  const stage = () => {
    const backend = createMemoryBackend({ hasLiveReads });
    const configured: unknown[] = [];
    const resolver = { ...createNoResolver(), configure: (...settings: unknown[]) => configured.push(settings[1]) };
    const clock = { now: () => 7, monotonic: () => 0 };
    return { backend, configured, core: createCore({ backend, clock, random: systemRandom, resolver }) };
  };

  it('that is away refuses every change with backendAway, and nothing is changed', async () => {
    const { backend, core } = stage();
    await core.createUser({ accessKey: 'a', name: 'n', limitBytes: 1n });
    backend.becomes('away');
    const changes = [
      core.createUser({ accessKey: 'b', name: null, limitBytes: null }),
      core.bulkCreateUsers(1n, null),
      core.updateUser({ accessKey: 'a', name: null, limitBytes: null }),
      core.setLimit('a', 2n),
      core.deleteUser('a'),
      core.resetUser('a'),
      core.replaceRules([RULE]),
      core.changeDns({ enabled: true }),
    ];
    for (const change of changes) await expect(change).rejects.toMatchObject({ code: 'backendAway' });
    if (hasLiveReads) await expect(core.key('a')).rejects.toMatchObject({ code: 'backendAway' });
    backend.becomes('there');
    expect(await core.key('a')).toMatchObject({ name: 'n', limitBytes: 1n });
    expect(await core.status()).toEqual({ active: 0, total: 1, uptimeSeconds: hasLiveReads ? 42 : 0 });
  });

  it('tells the resolver of settings that anyone has changed', async () => {
    const { backend, core, configured } = stage();
    await expect(core.replaceRules([RULE])).rejects.toMatchObject({ code: 'outboundNotConfigured' });
    backend.outside({ rules: 'empty' });
    await core.replaceRules([RULE]);
    expect(await core.rules()).toEqual([RULE]);
    expect(configured.at(-1)).toMatchObject({ rules: [RULE] });
    backend.outside({ rules: 'none' });
    expect([await core.rules(), configured.at(-1)]).toEqual([[], null]);
  });

  it('without a configuration answers noConfigPath to its reading and replacing', async () => {
    const { core } = stage();
    await expect(core.readConfig()).rejects.toMatchObject({ code: 'noConfigPath' });
    await expect(core.replaceConfig(Buffer.from('{}'))).rejects.toMatchObject({ code: 'noConfigPath' });
  });
});
