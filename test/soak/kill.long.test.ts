import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { buildIfOlder } from '../build.js';
import { SEED } from '../seed.js';
import { runKillRounds, summaryText } from './kill-rounds.js';

beforeAll(buildIfOlder, 300_000);

const rounds = Number(process.env.SOAK_ROUNDS ?? 3);

it(
  `the process, killed ${rounds} times under reports and changes of keys, loses and doubles nothing (TEST_SEED=${SEED})`,
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'keyway-soak-'));
    try {
      const summary = await runKillRounds({
        folder,
        rounds,
        seed: SEED,
        onRound: (so) => {
          if (so.rounds % 50 === 0) process.stdout.write(`${summaryText(so)}\n`);
        },
      });
      process.stdout.write(`${summaryText(summary)}\n`);
      expect(summary).toMatchObject({ rounds, lost: 0, doubled: 0 });
      expect(summary.acknowledged).toBeGreaterThanOrEqual(5 * rounds);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
  120_000 + rounds * 20_000,
);
