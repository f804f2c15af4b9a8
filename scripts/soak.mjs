// `npm run soak -- --rounds N`: kills the real process so many times under load and checks what comes back, and plays a
// thousand crashes of its stores on a disk that forgets what was not synced, and kills it in the middle of batches of thousands of keys.
// `npm run soak -- --load [--minutes N]`: puts mixed load on it, abuse and edits by hand included, and checks that no
// answer was wrong, no change lost and its memory flat.
// `npm run soak -- --hostile [--minutes N]`: the same with clients beside it that flood, never read, guess, and close or
// reset their connections half-way, pipeline CONNECTs and thousands of requests, send bodies a byte at a time from 300 networks and log in with 1 MB,
// with patches of 10,000 members and 1,000 moves, and checks that its memory stays below 400 MiB; then so long in front of a server that answers 101, byte by byte, without an end,
// with what it was sent, or resets.
// `npm run soak -- --beside [--rounds N]`: lets Keyway and a server beside it write one file in turn and checks that no
// acknowledged change of either is lost.
// `npm run soak -- --upstream [--rounds N]`: writes through a Keyway in front of servers of every line that lose writes, beside others who
// write there, with restarts of the servers and kills of Keyway, and checks that what was acknowledged is there at the end.
// `npm run soak -- --database --rounds N`: three gateways over one PostgreSQL, under kills, cuts and hangs of each part, and
// every scenario of every line over a database.
// `npm run soak -- --database --nemesis [--minutes N]`: the same gateways, and a standby, under faults that last besides: clocks that are
// hours off, the standby lost, tables locked, a database that takes no writes, black holes one way, gateways that stand for a minute.
// `npm run soak -- --properties`: every property that tests hold with random tries, with 25 times as many as in `npm test`.
// `npm run mutations`, or `npm run soak -- --mutations`: makes a Keyway of four lines wrong in one thing after the other, and checks that
// `keyway replay --target` notices each in the mode that docs/replay-ci.md says.
// All others take --seed S. Exit code 1 when anything is not so.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const { rounds, load, hostile, beside, upstream, database, nemesis, mutations, properties, minutes, seed } = parseArgs({
  options: {
    rounds: { type: 'string' },
    load: { type: 'boolean', default: false },
    hostile: { type: 'boolean', default: false },
    upstream: { type: 'boolean', default: false },
    database: { type: 'boolean', default: false },
    nemesis: { type: 'boolean', default: false },
    mutations: { type: 'boolean', default: false },
    properties: { type: 'boolean', default: false },
    beside: { type: 'boolean', default: false },
    minutes: { type: 'string' },
    seed: { type: 'string' },
  },
}).values;

const isNumber = (text) => text === undefined || /^[1-9]\d{0,6}$/.test(text);
const isTimed = load || hostile || nemesis;
const parts = [load, hostile, beside, upstream, database, mutations, properties].filter(Boolean).length;
const isMixed =
  parts > 1 ||
  (nemesis && !database) ||
  (isTimed ? rounds : minutes) !== undefined ||
  ((mutations || properties) && (rounds ?? minutes ?? seed) !== undefined);
if (isMixed || !isNumber(rounds) || !isNumber(minutes) || !/^\d{1,9}$/.test(seed ?? '0')) {
  console.error(
    'expected --rounds N, perhaps with --beside, --upstream or --database, or --load, --hostile or --database --nemesis and perhaps --minutes N; --mutations or --properties alone; perhaps --seed S; all whole numbers',
  );
  process.exit(2);
}
/** Times as many random tries as in `npm test`. */
const TRIES = '25';

/** The test files with random tries, of their own or of a model of all homes. */
function withTries() {
  const names = readdirSync('test', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.test.ts'));
  return names
    .map((name) => `test/${name}`)
    .filter((file) => /\/(?:tries|backend-model)\.js'/.test(readFileSync(file, 'utf8')));
}

function partOf() {
  if (load) return { test: 'load', env: { SOAK_LOAD_MINUTES: minutes ?? '10' } };
  if (hostile)
    return {
      test: 'hostile',
      also: ['test/soak/hostile-upstream.long.test.ts'],
      env: { SOAK_HOSTILE_MINUTES: minutes ?? '5' },
    };
  if (beside) return { test: 'beside', env: { SOAK_BESIDE_ROUNDS: rounds ?? '1000' } };
  if (upstream) return { test: 'upstream', env: { SOAK_UPSTREAM_ROUNDS: rounds ?? '90' } };
  if (properties) {
    const [file, ...also] = withTries();
    return { file, also, env: { TRIES } };
  }
  if (mutations) return { test: 'mutations', env: { SOAK_MUTATIONS: 'all' } };
  if (nemesis) return { test: 'database', env: { SOAK_NEMESIS_MINUTES: minutes ?? '10' } };
  if (database) {
    const env = { SOAK_DATABASE_ROUNDS: rounds ?? '200' };
    return { test: 'database', also: ['test/homes/database/scenarios.long.test.ts'], env };
  }
  const crashes = ['homes/file/counters/created-again', 'homes/file/counters/crash', 'homes/file/crash'].map(
    (name) => `test/${name}.test.ts`,
  );
  const env = { SOAK_ROUNDS: rounds ?? '1000', TRIES, JOB_KILLS: 'all' };
  return { test: 'kill', also: [...crashes, 'test/own-api/kill.long.test.ts'], env };
}
const part = partOf();
// Each soak tries other things, where the tests of one tree make up the same.
const env = { ...process.env, ...part.env, TEST_SEED: seed ?? String(Date.now() % 1_000_000) };
const files = [part.file ?? `test/soak/${part.test}.long.test.ts`, ...(part.also ?? [])];
// One file after the other: what is measured there is not disturbed.
const argv = [
  'vitest',
  'run',
  ...['--configLoader', 'runner', '--config', 'vitest.full.config.ts'],
  ...files,
  '--no-file-parallelism',
  '--disable-console-intercept',
  '--testTimeout=600000',
];
const child = spawn('npx', argv, { env, stdio: 'inherit' });
child.on('close', (code) => process.exit(code ?? 1));
