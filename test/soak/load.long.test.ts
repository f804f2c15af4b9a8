import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { buildIfOlder } from '../build.js';
import { SEED } from '../seed.js';
import { growth, runLoad, summaryText } from './load-rounds.js';

beforeAll(buildIfOlder, 300_000);

/** Only a run that was asked for is long enough to judge memory by. */
const isLong = process.env.SOAK_LOAD_MINUTES !== undefined;
const seconds = isLong ? Number(process.env.SOAK_LOAD_MINUTES) * 60 : 6;
const MOST_GROWTH = 0.1;

it(
  `200 connections for ${seconds} s, slow, broken and abusive ones among them, get no wrong answer and lose no change (TEST_SEED=${SEED})`,
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'keyway-load-'));
    const onProgress = (words: string) => void process.stdout.write(`${words}\n`);
    try {
      const summary = await runLoad({ folder, seconds, seed: SEED, onProgress });
      process.stdout.write(`${summaryText(summary)}\n`);
      expect(summary.failures.slice(0, 20)).toEqual([]);
      expect(summary.lost.slice(0, 20)).toEqual([]);
      expect(summary.errors).toEqual([]);
      expect(summary.exitCode).toBe(0);
      // There was load at all: how much of it gets an answer depends on the machine.
      expect(summary.answers, 'answers').toBeGreaterThan(50);
      if (isLong) expect(growth(summary)).toBeLessThanOrEqual(MOST_GROWTH);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
  seconds * 1000 + 180_000,
);
