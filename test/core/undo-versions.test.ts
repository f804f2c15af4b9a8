import { describe, expect, it } from 'vitest';
import { KeyRegistry } from '../../src/core/keys/registry.js';
import { UNDO_GAP, UndoVersions } from '../../src/core/undo-versions.js';

function staged() {
  let now = 0;
  let fails = false;
  const lines: string[] = [];
  const keys = new KeyRegistry(() => now);
  const kept: string[][] = [];
  const undo = new UndoVersions({
    keys,
    keep: async () => {
      await Promise.resolve();
      if (fails) throw new Error('full');
      kept.push([...keys.entries()].map(({ accessKey }) => accessKey));
    },
    clock: { monotonic: () => now },
    log: { error: (_fields, message) => void lines.push(message) },
  });
  return {
    undo,
    kept,
    lines,
    add: (accessKey: string) => keys.create({ accessKey, name: null, limitBytes: null }),
    async remove(accessKey: string) {
      await undo.before();
      keys.setAside(accessKey);
      keys.forget(accessKey);
    },
    later: (milliseconds = UNDO_GAP) => {
      now += milliseconds;
    },
    fail: (isFailing: boolean) => {
      fails = isFailing;
    },
  };
}

describe('versions before something is taken away', () => {
  it('are kept where something was added since the newest one, and not for further removals', async () => {
    const { add, remove, later, kept } = staged();
    for (const name of ['a', 'b', 'c']) add(name);
    await remove('a');
    later();
    await remove('b');
    expect(kept).toEqual([['a', 'b', 'c']]);
    add('d');
    later();
    await remove('d');
    expect(kept.slice(1)).toEqual([['c', 'd']]);
  });

  it('are one in ten seconds at most while keys come and go', async () => {
    const { add, remove, later, kept } = staged();
    for (let n = 0; n < 300; n += 1) {
      add(`${n}`);
      await remove(`${n}`);
      later(100);
    }
    expect(kept).toHaveLength(3);
  });

  it('are shared by removals of one moment, each of which waits for it', async () => {
    const { undo, add, kept } = staged();
    add('a');
    await Promise.all([undo.before(), undo.before()]);
    expect(kept).toEqual([['a']]);
  });

  it('count settings that became others as added', async () => {
    const { undo, later, kept } = staged();
    await undo.before();
    later();
    await undo.before();
    undo.settingsChanged();
    await undo.before();
    expect(kept).toHaveLength(2);
  });

  it('that cannot be kept hold nothing up, are said, and are tried again later', async () => {
    const { add, remove, later, fail, kept, lines } = staged();
    for (const name of ['a', 'b']) add(name);
    fail(true);
    await remove('a');
    expect(lines).toEqual(['no version of the configuration could be kept before a change']);
    fail(false);
    later();
    await remove('b');
    expect(kept).toEqual([['b']]);
  });
});
