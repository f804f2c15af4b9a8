import { expect } from 'vitest';
import { KeyRegistry } from '../../../../src/core/keys/registry.js';
import type { FileSystemPort, LogPort } from '../../../../src/core/ports.js';
import { PostedCounters } from '../../../../src/homes/file/counters/posted-counters.js';
import { createRenewals, type Renewals } from '../../../../src/homes/file/counters/recreated-keys.js';
import {
  createRememberedReports,
  type RememberedReports,
} from '../../../../src/homes/file/counters/remembered-reports.js';
import { type CountersStore, openCountersStore } from '../../../../src/homes/file/counters/store.js';
import { removeFrom } from '../../../core/keys/remove-from.js';
import { type CallName, createForgetfulFileSystem } from '../../../ports/forgetful-file-system.js';

/** Something that happens to counters, to the disk or to the process. */
export type Step =
  | { readonly kind: 'report'; readonly keys: readonly number[]; readonly id: number | null }
  | { readonly kind: 'create' | 'remove' | 'reset' | 'announce' | 'settle'; readonly key: number }
  | {
      readonly kind: 'post';
      readonly source: number;
      readonly epoch: number;
      readonly number: number;
      readonly keys: readonly number[];
      readonly bytes: number;
    }
  | { readonly kind: 'forget' }
  | { readonly kind: 'configuration'; readonly keys: readonly number[] }
  | { readonly kind: 'flush'; readonly during?: Interruption }
  | { readonly kind: 'fail'; readonly call: CallName; readonly code: string; readonly times: number }
  | { readonly kind: 'end'; readonly by: 'crash' | 'kill' | 'close'; readonly during?: Interruption };

/** What happens before the n-th call that changes or syncs something. */
export interface Interruption {
  readonly by: 'crash' | 'kill';
  readonly call: number;
}

export interface Story {
  readonly steps: readonly Step[];
  /** Bytes of log after which the state is written anew. */
  readonly compactBytes: number;
  readonly seed: number;
}

export const DATA = '/var/lib/keyway/server';

interface Living {
  readonly keys: KeyRegistry;
  readonly reports: RememberedReports;
  readonly renewals: Renewals;
  readonly sources: PostedCounters;
  readonly store: CountersStore;
}

/**
 * Plays the story over a disk that forgets. At every restart what comes back must be what was there at one moment, and
 * one not before the last acknowledged flush.
 */
export async function play(story: Story): Promise<void> {
  const disk = createForgetfulFileSystem();
  disk.write('/var/lib/keyway/server/belongs-to.json', '{}');
  const choose = createChooser(story.seed);
  const complaints: string[] = [];
  let time = 1_000_000;
  const clock = { now: () => time++, monotonic: () => time++ };
  const log: LogPort = { debug() {}, info() {}, warn() {}, error: (_fields, message) => complaints.push(message) };
  /** Every state that there was since the last flush that was acknowledged, that one first. */
  let possible: string[] = [];
  let living: Living | null = null;

  async function open(): Promise<Living> {
    const keys = new KeyRegistry(clock.now, { tracksChanges: true });
    const reports = createRememberedReports(8);
    const renewals = createRenewals();
    const sources = new PostedCounters({ keys, count: (report) => keys.addUsage(report), clock });
    const parts = { keys, reports, renewals, sources };
    const options = { fileSystem: fillingUp(disk.port), dataFolder: DATA, ...parts, clock, log };
    const store = await openCountersStore({
      ...options,
      countersWriteMilliseconds: 0,
      compactBytes: story.compactBytes,
    });
    return { ...parts, store };
  }

  function stateOf({ keys, reports, renewals, sources }: Living): string {
    const kept = [...keys.allKept()].map(({ accessKey, bytesUp, bytesDown, connections, createdAt }) =>
      [accessKey, bytesUp, bytesDown, connections, createdAt].join(' '),
    );
    const replaced = renewals.all().map(({ before, ...rest }) => JSON.stringify([rest, String(before?.bytesUp)]));
    const posted = sources
      .all()
      .map((source) =>
        exact([source, [...sources.bases(source.name)].sort((a, b) => (a.accessKey < b.accessKey ? -1 : 1))]),
      );
    return [...kept.sort(), reports.all().join(' '), ...replaced.sort(), ...posted.sort()].join('\n');
  }

  async function start(during?: Interruption): Promise<void> {
    plan(during);
    try {
      living = await open();
    } catch {
      disk.heal();
      disk.before(null);
      living = await open();
    }
    disk.before(null);
    const found = stateOf(living);
    if (possible.length > 0) expect(possible).toContain(found);
    possible = [found];
    living.keys.replaceAll([...living.keys.allKept()].filter(({ leftAt }) => leftAt === null).map(record));
    expect(stateOf(living)).toBe(found);
  }

  function plan(during: Interruption | undefined): void {
    if (during === undefined) return;
    let left = during.call;
    disk.before(() => {
      if (left-- > 0) return;
      disk.before(null);
      if (during.by === 'kill') disk.kill();
      else disk.crash(choose);
    });
  }

  async function flush(during: Interruption | undefined): Promise<void> {
    plan(during);
    const before = possible.length - 1;
    const isDone = await living?.store.flush().then(
      () => true,
      () => false,
    );
    disk.before(null);
    if (isDone) possible = possible.slice(before);
  }

  async function endBy(by: 'crash' | 'kill' | 'close', during?: Interruption): Promise<void> {
    if (by === 'crash') disk.crash(choose);
    else if (by === 'kill') disk.kill();
    await living?.store.close();
    await start(during);
  }

  async function change(step: Step): Promise<void> {
    if (living === null) return;
    const { keys, reports, renewals, sources } = living;
    switch (step.kind) {
      case 'report': {
        const id = step.id === null ? null : `report-${step.id}`;
        if (id !== null && reports.has(id)) return;
        keys.addUsage(
          step.keys.map((key) => ({ accessKey: nameOf(key), bytesUp: 1n, bytesDown: 2n ** 60n, connections: 3n })),
        );
        if (id !== null) reports.add(id);
        return;
      }
      case 'post':
        await sources.take({
          source: `source-${step.source}`,
          run: { kind: 'epoch', epoch: BigInt(step.epoch) },
          number: BigInt(step.number),
          isFromZero: step.source === 0,
          restart: null,
          connections: step.source === 0 ? 'present' : 'total',
          isWhole: step.bytes % 2 === 0,
          counters: step.keys.map((key) => {
            const bytes = BigInt(step.bytes);
            return { accessKey: nameOf(key), bytesUp: bytes, bytesDown: bytes, connections: bytes % 3n };
          }),
        });
        return;
      case 'forget':
        sources.forgetSilent(Number.POSITIVE_INFINITY);
        return;
      case 'create':
        renewals.apply(nameOf(step.key), keys.kept(nameOf(step.key)));
        keys.create(record({ accessKey: nameOf(step.key) }));
        return;
      case 'announce':
        renewals.announce(nameOf(step.key), ['', nameOf(step.key)]);
        return;
      case 'settle':
        renewals.settle(nameOf(step.key));
        return;
      case 'remove':
        removeFrom(keys, nameOf(step.key));
        return;
      case 'reset':
        keys.reset(nameOf(step.key));
        return;
      case 'configuration':
        keys.replaceAll(step.keys.map((key) => record({ accessKey: nameOf(key) })));
    }
  }

  await start();
  for (const step of story.steps) {
    if (step.kind === 'flush') {
      await flush(step.during);
      if (step.during !== undefined) await endBy('kill');
    } else if (step.kind === 'fail') disk.fail(step.call, step.code, () => true, step.times);
    else if (step.kind === 'end') await endBy(step.by, step.during);
    else {
      await change(step);
      if (living !== null) possible.push(stateOf(living));
    }
  }
  disk.heal();
  await flush(undefined);
  expect(possible).toHaveLength(1);
  await endBy('crash');
  const expected = possible;
  await endBy('close');
  expect(possible).toEqual(expected);
  expect(complaints.filter((message) => message.includes('damaged'))).toEqual([]);
}

/** Bigints as what they are, members in the order of their names. */
function exact(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(exact).join(',')}]`;
  if (typeof value !== 'object' || value === null)
    return typeof value === 'string' ? JSON.stringify(value) : String(value);
  const members = Object.entries(value).map(([name, member]) => `${name}:${exact(member)}`);
  return `{${members.sort().join(',')}}`;
}

/** Names of every kind: plain, outside Latin-1, a lone surrogate. */
function nameOf(key: number): string {
  return ['', 'ü', 'ключ', '\ud800'][key % 4] + String(key);
}

function record({ accessKey }: { readonly accessKey: string }) {
  return { accessKey, name: null, limitBytes: null };
}

/** Numbers that look random and follow from the seed (a linear congruential generator). */
export function createChooser(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** A full disk takes a part of what is written. */
function fillingUp(port: FileSystemPort): FileSystemPort {
  const partly = async (error: unknown, content: Buffer, write: (part: Buffer) => Promise<void>): Promise<never> => {
    const isFull = error instanceof Error && 'code' in error && error.code === 'ENOSPC';
    if (isFull) await write(content.subarray(0, content.length / 2)).catch(() => undefined);
    throw error;
  };
  return {
    ...port,
    create: (path, content, mode) =>
      port
        .create(path, content, mode)
        .catch((error: unknown) => partly(error, content, (part) => port.create(path, part, mode))),
    append: (path, content) =>
      port.append(path, content).catch((error: unknown) => partly(error, content, (part) => port.append(path, part))),
  };
}
