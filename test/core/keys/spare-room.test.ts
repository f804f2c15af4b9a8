import { describe, expect, it } from 'vitest';
import { createSpareRoom } from '../../../src/core/keys/spare-room.js';

const LARGE = 100_000;

describe('spare room', () => {
  it('a retired content gives its memory to the next one that fits, and to one only', () => {
    const { room, retire } = createSpareRoom();
    const first = room(LARGE);
    retire(first);
    const second = room(LARGE + 1000);
    expect(second.buffer).toBe(first.buffer);
    expect(second).toHaveLength(LARGE + 1000);
    expect(room(LARGE).buffer).not.toBe(first.buffer);
  });

  it('memory that is too small, or somebody else’s, is not taken', () => {
    const { room, retire } = createSpareRoom();
    const first = room(LARGE);
    retire(first);
    expect(room(2 * LARGE).buffer).not.toBe(first.buffer);
    const foreign = Buffer.allocUnsafeSlow(LARGE);
    retire(foreign);
    expect(room(LARGE).buffer).not.toBe(foreign.buffer);
  });

  it('small contents come out of Node’s own shared memory, which is never given again', () => {
    const { room, retire } = createSpareRoom();
    const small = room(100);
    retire(small);
    expect(room(LARGE).buffer).not.toBe(small.buffer);
  });
});
