import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLogLines } from '../../src/platform/log-lines.js';

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** What a file or reader does at one write: takes that share of the bytes, or fails. */
type Outcome = number | 'EAGAIN' | 'ENOSPC' | 'EPIPE';

/** Takes bytes as it is told, and everything once the outcomes are used up. */
function createReader(outcomes: readonly Outcome[]) {
  const left = [...outcomes];
  const taken: Buffer[] = [];
  return {
    text: () => Buffer.concat(taken).toString(),
    async take(bytes: Buffer): Promise<number> {
      await turn();
      const outcome = left.shift() ?? 1;
      if (typeof outcome === 'string') throw Object.assign(new Error('not now'), { code: outcome });
      const count = Math.ceil(bytes.length * outcome);
      taken.push(bytes.subarray(0, count));
      return count;
    },
  };
}

function queueTo({ take }: ReturnType<typeof createReader>, longestBacklog = 1_000_000) {
  const notice = (lost: number, reason: string) => `lost ${lost} ${reason}\n`;
  return createLogLines({ take, notice, longestBacklog, wait: turn });
}

async function settled(lines: ReturnType<typeof queueTo>): Promise<void> {
  await lines.flush();
  for (let i = 0; i < 50; i += 1) await turn();
}

describe('lines of the log', () => {
  it('arrive whole, in order and once, or are counted by a line in their place, whatever the reader does', async () => {
    const outcome = fc.oneof(
      { weight: 3, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }) },
      { weight: 1, arbitrary: fc.constantFrom<Outcome>('EAGAIN', 'ENOSPC', 'EPIPE') },
    );
    const step = fc.record({ lines: fc.nat(30), size: fc.nat(3000), turns: fc.nat(3) });
    const story = fc.tuple(fc.array(outcome, { maxLength: 40 }), fc.array(step, { maxLength: 15 }));
    await fc.assert(
      fc.asyncProperty(story, async ([outcomes, steps]) => {
        const reader = createReader(outcomes);
        const lines = queueTo(reader, 40_000);
        let number = 0;
        for (const { lines: count, size, turns } of steps) {
          for (let i = 0; i < count; i += 1) lines.write(`${number++} ${'é'.repeat(size)}\n`);
          for (let i = 0; i < turns; i += 1) await turn();
        }
        await settled(lines);
        let next = 0;
        for (const line of reader.text().split('\n').slice(0, -1)) {
          const [, told] = /^lost (\d+) /.exec(line) ?? [];
          if (told !== undefined) next += Number(told);
          else {
            expect(line).toMatch(/^\d+ é*$/);
            expect(Number(line.split(' ')[0])).toBe(next++);
          }
        }
        expect(next).toBe(number);
        expect(reader.text()).toMatch(/^$|\n$/);
      }),
      { numRuns: 60 },
    );
  });

  it('of which one was half out when the disk was full: its rest goes out first, then how many were lost', async () => {
    const reader = createReader([0.75, 'ENOSPC', 'ENOSPC']);
    const lines = queueTo(reader);
    lines.write('one\n');
    lines.write('two\n');
    lines.write('three\n');
    await settled(lines);
    expect(reader.text()).toBe('one\nlost 2 No space left on device (ENOSPC)\n');
    expect(lines.lost()).toBe(2);
  });

  it('wait for a reader that takes nothing; beyond the backlog they are lost and counted, the older ones stay', async () => {
    const reader = createReader(Array.from({ length: 20 }, () => 'EAGAIN' as const));
    const lines = queueTo(reader, 100);
    for (let number = 10; number < 60; number += 1) lines.write(`line ${number}.\n`);
    expect(lines.lost()).toBeGreaterThan(20);
    await settled(lines);
    const [first, ...rest] = reader.text().split('\n');
    expect(first).toBe('line 10.');
    expect(rest.at(-2)).toBe(`lost ${lines.lost()} whatever reads the log was too slow`);
    lines.write('after\n');
    await settled(lines);
    expect(reader.text()).toMatch(/too slow\nafter\n$/);
  });

  it('hold up nobody who waits for them longer than some seconds when the reader never takes any', async () => {
    const lines = createLogLines({ take: () => new Promise(() => undefined), notice: () => '' });
    lines.write('one\n');
    const began = performance.now();
    await lines.flush();
    expect(performance.now() - began).toBeGreaterThanOrEqual(900);
  });

  it('of a log that says nothing of losses go on without a line about them', async () => {
    const reader = createReader(['ENOSPC']);
    const lines = createLogLines({ take: reader.take, notice: () => '', wait: turn });
    lines.write('one\n');
    for (let i = 0; i < 10; i += 1) await turn();
    lines.write('two\n');
    await settled(lines);
    expect([reader.text(), lines.lost()]).toEqual(['two\n', 1]);
  });
});
