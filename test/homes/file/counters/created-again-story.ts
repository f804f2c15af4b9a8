import { expect } from 'vitest';
import { type Core, createCore } from '../../../../src/core/core.js';
import type { LogPort } from '../../../../src/core/ports.js';
import { createNoResolver } from '../../../../src/dns/no-resolver.js';
import { createLocalBackend, type LocalBackend } from '../../../../src/homes/file/backend.js';
import { createConfigurationFile } from '../../../../src/homes/file/configuration/configuration-file.js';
import { openCounters } from '../../../../src/homes/file/counters/open-counters.js';
import { systemRandom } from '../../../../src/platform/system-ports.js';
import { type CallName, createForgetfulFileSystem } from '../../../ports/forgetful-file-system.js';
import { createChooser, type Interruption } from './store-story.js';

/** Something that happens to the one key of a story, to the disk, or to the process. */
export type Step =
  | { readonly kind: 'change'; readonly changes: readonly Change[]; readonly during?: Interruption }
  | { readonly kind: 'fail'; readonly call: CallName; readonly times: number }
  | { readonly kind: 'end'; readonly by: 'crash' | 'kill' | 'close'; readonly during?: Interruption };

/** Changes of one step are asked for at once. */
export type Change =
  | { readonly kind: 'create' | 'update' | 'limit'; readonly limit: number }
  | { readonly kind: 'delete' | 'reset' | 'report' };

export interface Story {
  readonly steps: readonly Step[];
  readonly seed: number;
}

/** The key as it is: what the file says of it, and its bytes up. */
interface Present {
  readonly record: string | null;
  readonly bytes: number;
}

/** As it may be: so many bytes, and at least those whose reports were acknowledged. */
interface World extends Present {
  readonly least: number;
}

const PATH = '/etc/server/server.json';
const DATA = '/var/lib/keyway/server';
const KEY = 'key';
const log: LogPort = { debug() {}, info() {}, warn() {}, error() {} };

async function reportOneByte(backend: LocalBackend): Promise<void> {
  const entries = [{ accessKey: KEY, bytesUp: 1n, bytesDown: 0n, connections: null }];
  const { durability } = await backend.count({ id: null, entries }, 'durable');
  if (typeof durability !== 'string') throw new Error(durability.failed);
}

interface Living {
  readonly backend: LocalBackend;
  readonly core: Core;
}

/**
 * Plays the story over a disk that forgets. After every restart the key must be as it was at one moment: record and
 * counters of before a change that was not answered with success, or those of after it, and never one with the other.
 */
export async function play(story: Story): Promise<void> {
  const disk = createForgetfulFileSystem();
  disk.write(PATH, '{ "mode": "server", "access_keys": [{ "access_key": "key", "name": "n0", "limit_bytes": 0 }] }');
  disk.write('/var/lib/other', '');
  const choose = createChooser(story.seed);
  let time = 1_000_000;
  let pid = 1;
  let boots = 1;
  let names = 0;
  let living: Living | null = null;
  let possible: readonly World[] = [{ record: 'n0 0', least: 0, bytes: 0 }];
  const clock = { now: () => time++, monotonic: () => time++ };

  async function open(): Promise<Living> {
    pid += 1;
    const ports = { fileSystem: disk.port, clock, log };
    const file = await createConfigurationFile({
      ...ports,
      path: PATH,
      dataFolder: DATA,
      pollMilliseconds: 0,
      watch: false,
      processes: onlyProcess(pid, `boot ${boots}`),
      wait: async () => undefined,
    });
    const configuration = { path: PATH, keys: file.load().keys, hold: file.hold };
    const counters = await openCounters({ ...ports, dataFolder: DATA, configuration });
    const backend = createLocalBackend({ ...ports, configuration: file, counters });
    return { backend, core: createCore({ backend, clock, random: systemRandom, resolver: createNoResolver() }) };
  }

  function present(): Present {
    const key = living?.core.keys.get(KEY);
    if (key === undefined) return { record: null, bytes: 0 };
    return { record: `${key.name} ${key.limitBytes}`, bytes: Number(key.counters?.bytesUp ?? 0n) };
  }

  /** As it is, but without what a crash may still take: that nobody acknowledged. */
  function presentOf(before: readonly World[], record: string | null): World {
    const now = present();
    const least = before.flatMap((world) => (world.record === record ? [world.least] : []));
    return { ...now, least: Math.min(now.bytes, ...least) };
  }

  function isPossible({ record, bytes }: Present): boolean {
    return possible.some((world) => world.record === record && world.least <= bytes && bytes <= world.bytes);
  }

  async function start(isForgetful: boolean, during?: Interruption): Promise<void> {
    plan(during);
    try {
      living = await open();
      // A start that makes little of its last writes may come to its end although its process is gone by then.
      if (isGone) throw new Error('gone while it started');
    } catch {
      disk.before(null);
      disk.heal();
      living = await open();
    }
    disk.before(null);
    isGone = false;
    const now = present();
    expect(isPossible(now), `${JSON.stringify(now)} of ${JSON.stringify(possible)}`).toBe(true);
    // What a kill has left in the system's memory alone may still go with the next crash.
    possible = isForgetful ? [{ ...now, least: now.bytes }] : [...possible, presentOf(possible, now.record)];
  }

  /** What the key was in memory before any call that changes the disk: nothing else can have reached it. */
  let reached: Present[] = [];
  let isGone = false;

  function plan(during: Interruption | undefined): void {
    let left = during?.call ?? Number.POSITIVE_INFINITY;
    reached = [];
    isGone = false;
    disk.before(() => {
      if (!isGone) reached.push(present());
      if (during === undefined || left-- > 0) return;
      disk.before(null);
      isGone = true;
      fall(during.by);
    });
  }

  /** Does one change; afterwards `possible` has what a crash may leave. */
  async function change(what: Change): Promise<void> {
    if (living === null) return;
    const { core, backend } = living;
    const name = `n${names++}`;
    const limitBytes = 'limit' in what ? BigInt(what.limit) : null;
    const before = possible;
    const { record: recordBefore } = present();
    const isDone = await act().then(
      // A process that is gone answers nobody.
      () => !isGone,
      () => false,
    );
    const now = presentOf(before, recordBefore);
    if (what.kind === 'reset' || what.kind === 'report') {
      if (now.record !== null) possible = [...before.map(later), ...(isDone ? [] : before), now];
    } else possible = isDone ? [now] : [...before, now];

    function later({ record, least, bytes }: World): World {
      if (record === null) return { record, least, bytes };
      return what.kind === 'report' ? { record, least: least + 1, bytes: bytes + 1 } : { record, least: 0, bytes: 0 };
    }

    async function act(): Promise<unknown> {
      switch (what.kind) {
        case 'create':
          return core.createUser({ accessKey: KEY, name, limitBytes });
        case 'update':
          return core.updateUser({ accessKey: KEY, name, limitBytes });
        case 'limit':
          return core.setLimit(KEY, limitBytes);
        case 'delete':
          return core.deleteUser(KEY);
        case 'reset':
          return core.resetUser(KEY);
        case 'report':
          return reportOneByte(backend);
      }
    }
  }

  /** Of changes that are asked for at once, a crash may leave what any of them made, with any of the reports and resets. */
  async function changeTogether(changes: readonly Change[]): Promise<void> {
    const [first] = changes;
    if (first !== undefined && changes.length === 1) return change(first);
    const before = possible;
    await Promise.all(changes.map(change));
    const most = changes.filter(({ kind }) => kind === 'report').length;
    const isAnew = changes.some(({ kind }) => kind === 'reset' || kind === 'create');
    const least = isAnew ? 0 : Math.min(...before.map((world) => world.least));
    const inMemory = [...reached, present()].map((now) => ({ ...now, least: Math.min(least, now.bytes) }));
    possible = [...before, ...inMemory, ...possible].flatMap((world) => {
      if (world.record === null) return [world];
      const reported = { ...world, bytes: world.bytes + most };
      return isAnew ? [reported, { ...reported, least: 0, bytes: most }] : [reported];
    });
  }

  /** The process goes, or the system with it, which then is booted. */
  function fall(by: 'crash' | 'kill'): void {
    if (by === 'kill') disk.kill();
    else {
      boots += 1;
      disk.crash(choose);
    }
  }

  async function endBy(by: 'crash' | 'kill' | 'close', during?: Interruption): Promise<void> {
    if (by !== 'close') fall(by);
    await end();
    await start(by === 'crash' && during?.by !== 'kill', during);
  }

  async function end(): Promise<void> {
    await living?.backend.close();
  }

  await start(true);
  for (const step of story.steps) {
    if (step.kind === 'fail') disk.fail(step.call, 'ENOSPC', (path) => path.startsWith('/etc/'), step.times);
    else if (step.kind === 'end') await endBy(step.by, step.during);
    else {
      plan(step.during);
      await changeTogether(step.changes);
      disk.before(null);
      if (step.during !== undefined) await endBy('kill');
    }
  }
  disk.heal();
  await change({ kind: 'create', limit: 9 });
  await change({ kind: 'report' });
  expect(possible).toHaveLength(2);
  await endBy('crash');
  expect(present().bytes).toBe(1);
  await end();
}

/** Every start is another process, and the one before is dead. */
function onlyProcess(pid: number, boot: string) {
  return {
    own: async () => ({ pid, started: '1' }),
    boot: async () => boot,
    find: async (other: number) => (other === pid ? { pid, started: '1' } : null),
  };
}
