import { expect, test } from 'vitest';
import { expectationOf } from '../mutations/expectations.js';
import { judge, LINES, mutationsOf } from '../mutations/judge.js';
import { startMutatedServer } from '../mutations/server-in-use.js';

const isWhole = process.env.SOAK_MUTATIONS === 'all';

test.skipIf(!isWhole)(
  `every mutation is noticed in the mode that is expected, or by nobody with a reason${isWhole ? '' : ' (left out: npm run mutations)'}`,
  async () => {
    const unexpected: string[] = [];
    for (const line of LINES) {
      const server = await startMutatedServer(line);
      const counts = new Map<string, number>();
      try {
        const noticed = await judge(server, line);
        for (const mutation of mutationsOf(server.site)) {
          const found = noticed.get(mutation.name);
          const { mode } = expectationOf(mutation, server.site);
          const seen = found?.mode ?? 'nobody';
          counts.set(seen, (counts.get(seen) ?? 0) + 1);
          if (found?.mode === (mode ?? undefined)) continue;
          const text = `${line}: ${mutation.name}: expected ${mode ?? 'nobody'}, noticed with ${seen} ${found?.by ?? ''}`;
          unexpected.push(text);
          process.stdout.write(`${text}\n`);
        }
      } finally {
        await server.close();
      }
      process.stdout.write(`${line}: ${[...counts].map(([seen, count]) => `${seen} ${count}`).join(', ')}\n`);
    }
    expect(unexpected).toEqual([]);
  },
  7_200_000,
);
