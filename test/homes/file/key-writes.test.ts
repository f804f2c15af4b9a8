import { describe, expect, it } from 'vitest';
import { DomainError } from '../../../src/core/errors.js';
import { KeyRegistry } from '../../../src/core/keys/registry.js';
import type { AccessKey } from '../../../src/core/model.js';
import { createRenewals } from '../../../src/homes/file/counters/recreated-keys.js';
import { createKeyWrites } from '../../../src/homes/file/key-writes.js';
import { createKey, deleteKey } from '../../ports/key-changes.js';

interface Call {
  readonly keys: readonly string[];
  end(error?: Error): void;
}

/** Calls that wait for the test to end them. */
function gate() {
  const calls: Call[] = [];
  return {
    calls,
    wait: (keys: readonly string[]) =>
      new Promise<void>((resolve, reject) => {
        calls.push({ keys, end: (error) => (error === undefined ? resolve() : reject(error)) });
      }),
  };
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

function stage() {
  const keys = new KeyRegistry(() => 7);
  const renewals = createRenewals();
  const saves = gate();
  const flushes = gate();
  /** As a configuration file does: what could not be written goes with the next write. */
  let pending: ReadonlyMap<string, AccessKey | null> = new Map();
  const changes = createKeyWrites({
    keys,
    renewals,
    store: { flush: () => flushes.wait([]) },
    configuration: {
      started: () => [],
      async save({ keys: changed = new Map() }) {
        const carried = new Map([...pending, ...changed]);
        try {
          await saves.wait([...changed.keys()]);
        } catch (error) {
          pending = new Map([...pending, ...changed]);
          throw error;
        }
        pending = new Map();
        return { keys: carried };
      },
    },
  });
  const end = async ({ calls }: ReturnType<typeof gate>, error?: Error) => {
    await settled();
    calls.shift()?.end(error);
    await settled();
  };
  keys.create({ accessKey: 'k', name: 'old', limitBytes: null });
  const create = (accessKey: string, name = 'new') => createKey(changes, { accessKey, name, limitBytes: null });
  return { keys, renewals, changes, saves, flushes, end, create };
}

describe('a key that is created again', () => {
  it('keeps its counters until the store has noted them, and is answered once they are dropped durably', async () => {
    const { keys, renewals, saves, flushes, end, create } = stage();
    keys.addUsage([{ accessKey: 'k', bytesUp: 5n, bytesDown: 0n, connections: null }]);
    const done = create('k');
    expect([keys.get('k')?.counters?.bytesUp, renewals.get('k')?.isApplied]).toEqual([5n, false]);
    await end(flushes);
    expect([keys.get('k')?.counters?.bytesUp, renewals.get('k')?.before?.bytesUp]).toEqual([0n, 5n]);
    expect(saves.calls.map(({ keys: [key] }) => key)).toEqual(['k']);
    await end(saves);
    expect([renewals.get('k'), flushes.calls.length]).toEqual([null, 1]);
    await end(flushes);
    await done;
  });

  it('is not settled by a write that was asked for before it', async () => {
    const { renewals, saves, flushes, end, create } = stage();
    const first = create('k');
    await end(flushes);
    const other = create('m');
    await end(saves);
    await end(flushes);
    await first;
    const second = create('k');
    await end(saves);
    await other;
    expect(renewals.get('k')?.isApplied).toBe(false);
    await end(flushes);
    expect(renewals.get('k')?.isApplied).toBe(true);
    await end(saves);
    await end(flushes);
    await second;
    expect(renewals.all()).toEqual([]);
  });

  it('and whose write failed is settled by the next write of any key', async () => {
    const { renewals, saves, flushes, end, create } = stage();
    const failing = create('k');
    await end(flushes);
    await Promise.all([expect(failing).rejects.toThrow('saveFailed'), end(saves, new DomainError('saveFailed'))]);
    expect(renewals.get('k')?.isApplied).toBe(true);
    const other = create('m');
    await end(saves);
    expect(renewals.get('k')).toBe(null);
    await end(flushes);
    await other;
  });
});

describe('a key that is created again while the write of a create before waits', () => {
  it('is not settled by a write that carries the one before alone', async () => {
    const { renewals, saves, flushes, end, create } = stage();
    const failing = create('k', 'first');
    await end(flushes);
    await Promise.all([expect(failing).rejects.toThrow('saveFailed'), end(saves, new DomainError('saveFailed'))]);
    const second = create('k', 'second');
    const other = create('m');
    await settled();
    expect([flushes.calls.length, renewals.get('k')?.isApplied]).toEqual([1, false]);
    await end(saves);
    await other;
    expect(renewals.get('k')).not.toBe(null);
    await end(flushes);
    expect(renewals.get('k')?.isApplied).toBe(true);
    await end(saves);
    expect(renewals.get('k')).toBe(null);
    await end(flushes);
    await second;
  });
});

describe('a key that is deleted', () => {
  it('keeps its counters until the file is written, by the next write where its own failed', async () => {
    const { keys, changes, saves, flushes, end, create } = stage();
    const failing = deleteKey(changes, 'k');
    await Promise.all([expect(failing).rejects.toThrow('saveFailed'), end(saves, new DomainError('saveFailed'))]);
    expect(keys.kept('k')).not.toBe(null);
    const other = create('m');
    await end(saves);
    expect(keys.kept('k')).toBe(null);
    await end(flushes);
    await other;
  });
});
