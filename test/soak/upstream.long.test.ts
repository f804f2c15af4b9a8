import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { compileFront } from '../homes/upstream/front-process.js';
import { LEAST_ACKNOWLEDGED, runRandomRounds, summaryText } from '../homes/upstream/random-rounds.js';
import { SEED } from '../seed.js';

const rounds = Number(process.env.SOAK_UPSTREAM_ROUNDS ?? 1);

test(
  `what was acknowledged through Keyway is there after ${rounds} rounds of writes by it and by others, restarts and kills (TEST_SEED=${SEED})`,
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'keyway-upstream-'));
    try {
      const script = await compileFront(folder);
      const onRound = (so: Parameters<typeof summaryText>[0]) => {
        if (so.rounds % 50 === 0) process.stdout.write(`${summaryText(so)}\n`);
      };
      const summary = await runRandomRounds({ folder, script, rounds, seed: SEED, onRound });
      process.stdout.write(`${summaryText(summary)}\n`);
      expect(summary.lost).toEqual([]);
      expect(summary.acknowledged).toBeGreaterThanOrEqual(LEAST_ACKNOWLEDGED * rounds);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
  120_000 + rounds * 30_000,
);
