// `npm run soak -- --rounds N`: kills the real process so many times under load and checks what comes back.
// `npm run soak -- --load [--minutes N]`: puts mixed load on it, abuse and edits by hand included, and checks that no
// answer was wrong, no change lost and its memory flat. Both take --seed S. Exit code 1 when anything is not so.
import { spawn } from 'node:child_process';
import { parseArgs } from 'node:util';

const { rounds, load, minutes, seed } = parseArgs({
  options: {
    rounds: { type: 'string' },
    load: { type: 'boolean', default: false },
    minutes: { type: 'string' },
    seed: { type: 'string' },
  },
}).values;

const isNumber = (text) => text === undefined || /^[1-9]\d{0,6}$/.test(text);
const isMixed = load ? rounds !== undefined : minutes !== undefined;
if (isMixed || !isNumber(rounds) || !isNumber(minutes) || !/^\d{1,9}$/.test(seed ?? '0')) {
  console.error('expected --rounds N, or --load and perhaps --minutes N; perhaps --seed S; all whole numbers');
  process.exit(2);
}
const part = load
  ? { test: 'load', env: { SOAK_LOAD_MINUTES: minutes ?? '10' } }
  : { test: 'kill', env: { SOAK_ROUNDS: rounds ?? '1000' } };
const env = { ...process.env, ...part.env, ...(seed === undefined ? {} : { SOAK_SEED: seed }) };
const argv = ['vitest', 'run', `test/soak/${part.test}.test.ts`, '--disable-console-intercept'];
const child = spawn('npx', argv, { env, stdio: 'inherit' });
child.on('close', (code) => process.exit(code ?? 1));
