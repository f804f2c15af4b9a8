import { describe, expect, it } from 'vitest';
import { createBufferReuse } from '../../src/core/buffer-reuse.js';

const LARGE = 100_000;

describe('reuse of buffers', () => {
  it('a retired content gives its memory to the next one that fits, and to one only', () => {
    const { allocate, retire } = createBufferReuse();
    const first = allocate(LARGE);
    retire(first);
    const second = allocate(LARGE + 1000);
    expect(second.buffer).toBe(first.buffer);
    expect(second).toHaveLength(LARGE + 1000);
    expect(allocate(LARGE).buffer).not.toBe(first.buffer);
  });

  it('memory that is too small, or somebody else’s, is not taken', () => {
    const { allocate, retire } = createBufferReuse();
    const first = allocate(LARGE);
    retire(first);
    expect(allocate(2 * LARGE).buffer).not.toBe(first.buffer);
    const foreign = Buffer.allocUnsafeSlow(LARGE);
    retire(foreign);
    expect(allocate(LARGE).buffer).not.toBe(foreign.buffer);
  });

  it('small contents come out of Node’s own shared memory, which is never given again', () => {
    const { allocate, retire } = createBufferReuse();
    const small = allocate(100);
    retire(small);
    expect(allocate(LARGE).buffer).not.toBe(small.buffer);
  });
});
