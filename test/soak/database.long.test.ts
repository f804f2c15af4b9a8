import { beforeAll, expect, inject, it } from 'vitest';
import { buildIfOlder } from '../build.js';
import { SEED } from '../seed.js';
import { type ChaosSummary, runChaosRounds } from './database-rounds.js';

beforeAll(buildIfOlder, 300_000);

const minutes = process.env.SOAK_NEMESIS_MINUTES === undefined ? null : Number(process.env.SOAK_NEMESIS_MINUTES);
const rounds = Number(process.env.SOAK_DATABASE_ROUNDS ?? 2);
const name =
  minutes === null
    ? `three gateways over one database, in ${rounds} rounds of everything that may go wrong, lose and double nothing (TEST_SEED=${SEED})`
    : `three gateways over a database with a standby, in ${minutes} minutes with faults that last, lose and double nothing (TEST_SEED=${SEED})`;

function words({ rounds: done, acknowledged, refused, unknown, faults }: ChaosSummary): string {
  return `${done} rounds, ${acknowledged} acknowledged, ${refused} refused, ${unknown} unknown, ${faults.length} faults\n`;
}

it.runIf(inject('hasPostgres') && process.env.KEYWAY_TEST_DATABASE_URL === undefined)(
  name,
  async () => {
    const summary = await runChaosRounds({
      until: minutes === null ? { rounds } : { minutes },
      nemesis: minutes !== null,
      seed: SEED,
      onRound: (so) => {
        if (so.rounds % 10 === 0 || minutes !== null) process.stdout.write(words(so));
      },
    });
    process.stdout.write(words(summary));
    const happened = [...summary.happened].map(([fault, times]) => `${fault}: ${times}`);
    if (minutes !== null) process.stdout.write(`${happened.join('; ')}\n`);
    expect(summary.faults).toEqual([]);
    expect(summary.acknowledged).toBeGreaterThan(20 * summary.rounds);
  },
  minutes === null ? 120_000 + rounds * 60_000 : 600_000 + minutes * 120_000,
);

it.skipIf(inject('hasPostgres') && process.env.KEYWAY_TEST_DATABASE_URL === undefined)(
  'is not played: it kills a PostgreSQL of its own, and npm has none for this platform or another is named',
  () => undefined,
);
