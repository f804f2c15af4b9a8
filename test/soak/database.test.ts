import { beforeAll, expect, inject, it } from 'vitest';
import { buildIfOlder } from '../build.js';
import { runChaosRounds } from './database-rounds.js';

beforeAll(buildIfOlder, 300_000);

const rounds = Number(process.env.SOAK_DATABASE_ROUNDS ?? 3);
const seed = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const name = `three gateways over one database, in ${rounds} rounds of everything that may go wrong, lose and double nothing (SOAK_SEED=${seed})`;

it.runIf(inject('hasPostgres') && process.env.KEYWAY_TEST_DATABASE_URL === undefined)(
  name,
  async () => {
    const summary = await runChaosRounds({
      rounds,
      seed,
      onRound: ({ rounds: done, acknowledged, faults }) => {
        if (done % 10 === 0)
          process.stdout.write(`${done} rounds, ${acknowledged} acknowledged, ${faults.length} faults\n`);
      },
    });
    process.stdout.write(
      `${summary.rounds} rounds, ${summary.acknowledged} acknowledged, ${summary.faults.length} faults\n`,
    );
    expect(summary.faults).toEqual([]);
    expect(summary.acknowledged).toBeGreaterThan(20 * rounds);
  },
  120_000 + rounds * 60_000,
);

it.skipIf(inject('hasPostgres') && process.env.KEYWAY_TEST_DATABASE_URL === undefined)(
  'is not played: it kills a PostgreSQL of its own, and npm has none for this platform or another is named',
  () => undefined,
);
