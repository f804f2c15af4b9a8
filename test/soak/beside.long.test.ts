import { beforeEach, expect, it } from 'vitest';
import { folderForTest } from '../folder-for-test.js';
import { SEED } from '../seed.js';
import { runBesideRounds, summaryText } from './beside-rounds.js';

const rounds = Number(process.env.SOAK_BESIDE_ROUNDS ?? 40);
/** A server looks at its file every 100 ms then. */
const factor = 50;

let folder = '';
beforeEach(async () => {
  folder = await folderForTest();
});

it(
  `of ${rounds} rounds in which Keyway and a server write one file in turn no acknowledged change of either is lost (TEST_SEED=${SEED})`,
  async () => {
    const summary = await runBesideRounds({
      folder,
      rounds,
      seed: SEED,
      factor,
      protects: true,
      onRound: (so) => {
        if (so.rounds % 100 === 0) process.stdout.write(`${summaryText(so)}\n`);
      },
    });
    process.stdout.write(`${summaryText(summary)}\n`);
    expect(summary).toMatchObject({ rounds, lost: { keyway: 0, server: 0 }, faults: [] });
    expect(summary.acknowledged).toBe(2 * rounds);
    expect(summary.givenAgain).toBeGreaterThan(0);
  },
  120_000 + rounds * 10_000,
);

it('the same rounds find what is lost where nothing is made again', async () => {
  const { lost } = await runBesideRounds({ folder, rounds: 20, seed: SEED, factor, protects: false });
  expect(lost.keyway).toBeGreaterThan(0);
});
