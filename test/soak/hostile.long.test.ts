import { mkdtemp, rm } from 'node:fs/promises';
import { platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { buildIfOlder } from '../build.js';
import { SEED } from '../seed.js';
import { runLoad, summaryText } from './load-rounds.js';
import { SLOW_NETWORKS } from './load-strangers.js';

beforeAll(buildIfOlder, 300_000);

const { SOAK_HOSTILE_MINUTES: minutes } = process.env;
const isShort = minutes === undefined;
const seconds = isShort ? 3 : Number(minutes) * 60;
/** Few connections in a run with all the other tests; the soak has more than a listener takes. */
const slowNetworks = isShort ? 20 : SLOW_NETWORKS;
/** Bytes of resident memory, at 10,000 keys. */
const MOST_MEMORY = 400 * 1024 * 1024;

// Elsewhere neither are all of 127.0.0.0/8 addresses of this machine, nor can the memory of another process be read.
const isLinux = platform() === 'linux';
if (!isLinux) process.stdout.write('skipped but on Linux: hostile clients need addresses of their own\n');

it.runIf(isLinux)(
  `for ${seconds} s beside a flood, unread answers, guesses, half-closed and reset connections, pipelined CONNECTs, thousands of requests ahead of their answers, slow bodies from ${slowNetworks} networks, logins of 1 MB and patches of 10,000 members, the load gets no wrong answer, loses no change and takes at most 400 MiB (TEST_SEED=${SEED})`,
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'keyway-hostile-'));
    const onProgress = (words: string) => void process.stdout.write(`${words}\n`);
    try {
      const summary = await runLoad({ folder, seconds, seed: SEED, hostile: true, slowNetworks, onProgress });
      process.stdout.write(`hostile: ${summaryText(summary)}\n`);
      expect(summary.failures.slice(0, 20)).toEqual([]);
      expect(summary.lost.slice(0, 20)).toEqual([]);
      expect(summary.errors).toEqual([]);
      expect(summary.exitCode).toBe(0);
      expect(summary.answers).toBeGreaterThan(isShort ? 20 : 200);
      expect(summary.memory.most).toBeLessThanOrEqual(MOST_MEMORY);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
  seconds * 1000 + 180_000,
);
