// `npm run soak -- --rounds N [--seed S]`: kills the real process so many times under load and checks what comes back.
import { spawn } from 'node:child_process';
import { parseArgs } from 'node:util';

const options = { rounds: { type: 'string', default: '1000' }, seed: { type: 'string' } };
const { rounds, seed } = parseArgs({ options }).values;
if (!/^[1-9]\d{0,6}$/.test(rounds) || !/^\d{1,9}$/.test(seed ?? '0')) {
  console.error('expected --rounds N and perhaps --seed S, both whole numbers');
  process.exit(2);
}
const env = { ...process.env, SOAK_ROUNDS: rounds, ...(seed === undefined ? {} : { SOAK_SEED: seed }) };
const child = spawn('npx', ['vitest', 'run', 'test/soak/kill.test.ts', '--disable-console-intercept'], {
  env,
  stdio: 'inherit',
});
child.on('close', (code) => process.exit(code ?? 1));
