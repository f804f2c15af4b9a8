import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ServiceState } from '../../src/core/ports.js';
import { createServiceManager } from '../../src/platform/service-manager.js';
import { createServiceReports } from '../../src/serve/service.js';
import { buildIfOlder } from '../build.js';
import { ROOT } from '../clone.js';
import { startKeyway } from '../commands/process.js';
import { folderForTest } from '../folder-for-test.js';
import { isInstalled } from '../installed.js';
import { type Receiver, startReceiver } from './notify-receiver.js';

const hasTools = ['systemd-notify', 'python3']
  .map((tool) => isInstalled(tool, 'what a service manager hears of a running gateway'))
  .every((found) => found);

let folder = '';
beforeEach(async () => {
  folder = await folderForTest();
});

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

describe.skipIf(!hasTools)('keyway serve under a service manager', () => {
  beforeAll(buildIfOlder);
  let receiver: Receiver | null = null;
  afterEach(() => receiver?.close());

  const count = (message: string) => receiver?.messages.filter((each) => each.includes(message)).length ?? 0;

  it.each([
    ['a socket file', (name: string) => join(folder, name)],
    ['an abstract socket', (name: string) => `@${folder}/${name}`],
  ])('on %s: ready once it answers, signs of life, reloading, stopping', async (_kind, socketOf) => {
    const socket = socketOf('notify.sock');
    receiver = await startReceiver(socket);
    await copyFile(join(ROOT, 'fixtures/samples/server.jsonc'), join(folder, 'server.jsonc'));
    const environment = { NOTIFY_SOCKET: socket, WATCHDOG_USEC: '200000' };
    const argv = ['serve', '--config', 'server.jsonc', '--bind', '127.0.0.1:0'];
    const running = startKeyway(argv, { folder, environment });
    onTestFinished(() => void running.child.kill('SIGKILL'));
    await receiver.received((message) => message.includes('READY=1'));
    const url = String((await running.logged(({ url }) => url !== undefined)).url);
    expect(receiver.messages[0]).toBe(`READY=1\nSTATUS=Listening on ${url}`);
    expect((await fetch(`${url}/`)).status).toBeGreaterThan(0);
    await vi.waitUntil(() => count('WATCHDOG=1') >= 2, { timeout: 30_000 });
    running.child.kill('SIGHUP');
    await receiver.received((message) => message.includes('RELOADING=1'));
    await vi.waitUntil(() => count('READY=1') === 2, { timeout: 30_000 });
    running.child.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ code: 0 });
    await receiver.received((message) => message.includes('STOPPING=1'));
    expect(running.log().filter(({ msg }) => String(msg).includes('service manager'))).toEqual([]);
  });
});

describe('a service manager', () => {
  it('is there only where NOTIFY_SOCKET names one', () => {
    expect(createServiceManager({}, 1)).toBeNull();
    expect(createServiceManager({ NOTIFY_SOCKET: '' }, 1)).toBeNull();
    expect(createServiceManager({ NOTIFY_SOCKET: '/run/notify' }, 1)?.watchdog).toBeNull();
  });

  it('expects signs of life as WATCHDOG_USEC says, of the process that WATCHDOG_PID names', () => {
    const watchdog = (variables: Readonly<Record<string, string>>) =>
      createServiceManager({ NOTIFY_SOCKET: '/run/notify', ...variables }, 7)?.watchdog;
    expect(watchdog({ WATCHDOG_USEC: '60000000' })).toBe(60_000);
    expect(watchdog({ WATCHDOG_USEC: '60000000', WATCHDOG_PID: '7' })).toBe(60_000);
    expect(watchdog({ WATCHDOG_USEC: '60000000', WATCHDOG_PID: '8' })).toBeNull();
    for (const none of ['', '0', '-1', '1.5', 'soon']) expect(watchdog({ WATCHDOG_USEC: none })).toBeNull();
  });
});

describe('reports to a service manager', () => {
  it('send signs of life twice within the time asked for, from ready on until the end', async () => {
    vi.useFakeTimers();
    try {
      const told: ServiceState[] = [];
      const manager = { watchdog: 60_000, tell: async (state: ServiceState) => void told.push(state) };
      const reports = createServiceReports(manager, silent);
      await vi.advanceTimersByTimeAsync(120_000);
      expect(told).toEqual([]);
      await reports.ready('Listening');
      await reports.ready('Listening');
      await vi.advanceTimersByTimeAsync(60_000);
      expect(told).toEqual(['ready', 'ready', 'alive', 'alive']);
      reports.end();
      await vi.advanceTimersByTimeAsync(120_000);
      expect(told).toHaveLength(4);
    } finally {
      vi.useRealTimers();
    }
  });

  it('log the first failure in a row and go on', async () => {
    const warnings: string[] = [];
    let fails = true;
    const manager = {
      watchdog: null,
      tell: async () => {
        if (fails) throw new Error('there is no systemd-notify');
      },
    };
    const reports = createServiceReports(manager, { ...silent, warn: (_, message) => void warnings.push(message) });
    await reports.ready('Listening');
    await reports.reloading();
    expect(warnings).toEqual(['the service manager cannot be told: there is no systemd-notify']);
    fails = false;
    await reports.ready('Listening');
    fails = true;
    await reports.stopping();
    expect(warnings).toHaveLength(2);
  });

  it('without a manager say nothing', async () => {
    const reports = createServiceReports(null, silent);
    await reports.ready('Listening');
    await reports.stopping();
    reports.end();
  });
});
