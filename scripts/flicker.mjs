// `npm run flicker`: runs the whole suite ten times in a row, two of them as another user on a copy of this clone and two
// under load, and says of each what failed. --runs N, --as-other-user N and --under-load N say how many; the last two are
// among the first. What else is given goes to vitest: `npm run flicker -- --runs 3 test/core`. Exit code 1 when anything
// failed.
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { chmod, chown, cp, mkdir, open, readFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Nobody, on most systems. */
const OTHER = { uid: 65_534, gid: 65_534 };
/** Busy until whoever started it is gone, even one that was killed. */
const LOOP = 'const parent = process.ppid; while (process.ppid === parent);';

const { values: given, positionals: testFiles } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: 'string' }, 'as-other-user': { type: 'string' }, 'under-load': { type: 'string' } },
});
const count = Number(given.runs ?? 10);
const special = Math.min(2, Math.floor(count / 3));
const ofKind = {
  'as another user': Number(given['as-other-user'] ?? special),
  'under load': Number(given['under-load'] ?? special),
};
const asked = Object.values(ofKind).reduce((sum, one) => sum + one, 0);
if (![count, ...Object.values(ofKind)].every((one) => Number.isInteger(one) && one >= 0) || asked > count) {
  console.error(
    'expected --runs N, and --as-other-user N and --under-load N that are not more together; whole numbers',
  );
  process.exit(2);
}
if (ofKind['as another user'] > 0 && process.getuid?.() !== 0) {
  console.log(`left out: ${ofKind['as another user']} runs as another user, which only root can start`);
  ofKind['as another user'] = 0;
}

const logs = mkdtempSync(join(tmpdir(), 'keyway-flicker-'));
/** What must not outlive this process. */
const children = new Set();
let copy = null;
function cleanUp() {
  for (const child of children) end(child);
  if (copy !== null) rmSync(copy, { recursive: true, force: true });
}
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
]) {
  process.on(signal, () => process.exit(code));
}
process.on('exit', cleanUp);

/** Those of a kind stand evenly among the others: what they leave behind is there for the next. */
function inOrder() {
  const kinds = Array.from({ length: count - asked }, () => 'plain');
  for (const [kind, number] of Object.entries(ofKind)) {
    for (let one = 0; one < number; one += 1) {
      kinds.splice(Math.round(((one + 1) * kinds.length) / (number + 1)), 0, kind);
    }
  }
  return kinds;
}

/** A clone with the files of this one that git knows or would, what npm has installed, and what is built, in a folder of the other user. */
async function copyForOther() {
  copy = mkdtempSync(join(tmpdir(), 'keyway-other-'));
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { stdout } = await promisify(execFile)('git', list, { cwd: ROOT, maxBuffer: 2 ** 26 });
  const tree = join(copy, 'keyway');
  // Some tests clone what they stand in.
  await promisify(execFile)('git', ['clone', '--quiet', '--no-checkout', '--depth', '1', `file://${ROOT}`, tree]);
  const isCache = (path) => relative(ROOT, path) === 'node_modules/.cache';
  const options = {
    recursive: true,
    preserveTimestamps: true,
    verbatimSymlinks: true,
    filter: (path) => !isCache(path),
  };
  for (const name of [...stdout.split('\0').filter((one) => one !== ''), 'node_modules', 'dist']) {
    await cp(join(ROOT, name), join(tree, name), options).catch((error) => {
      // One that git still lists, but that was removed by hand.
      if (error.code !== 'ENOENT') throw error;
    });
  }
  for (const name of ['home', 'tmp']) await mkdir(join(copy, name));
  await promisify(execFile)('chown', ['-R', `${OTHER.uid}:${OTHER.gid}`, copy]);
  return tree;
}

/** Nothing of npm's or of the session of who started this. */
function environmentOfOther() {
  const own = Object.entries(process.env).filter(([name]) => !/^(npm_|XDG_|KEYWAY_|INIT_CWD$)/i.test(name));
  return {
    ...Object.fromEntries(own),
    HOME: join(copy, 'home'),
    TMPDIR: join(copy, 'tmp'),
    USER: 'nobody',
    LOGNAME: 'nobody',
  };
}

function startLoops() {
  const loops = Array.from({ length: availableParallelism() }, () =>
    started('nice', [process.execPath, '-e', LOOP], { stdio: 'ignore' }),
  );
  return () => {
    for (const loop of loops) end(loop);
  };
}

/** Its own group of processes, which ends as one. */
function started(program, argv, options) {
  const child = spawn(program, argv, { ...options, detached: true });
  children.add(child);
  child.once('error', (error) => console.error(String(error)));
  return child;
}

function end(child) {
  children.delete(child);
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/** Runs the suite once and resolves to what its report says. */
async function runSuite(number, kind) {
  const folder = join(logs, `${String(number).padStart(2, '0')}-${kind.replaceAll(' ', '-')}`);
  await mkdir(folder);
  const isOther = kind === 'as another user';
  if (isOther) await chown(folder, OTHER.uid, OTHER.gid);
  const cwd = isOther ? join(copy, 'keyway') : ROOT;
  const report = join(folder, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  // The loader of `npm test`, which writes nothing into the clone.
  const loader = ['--configLoader', 'runner'];
  const argv = [join(cwd, 'node_modules/vitest/vitest.mjs'), 'run', ...loader, ...reporters, ...testFiles];
  const log = await open(join(folder, 'log'), 'w');
  const endLoops = kind === 'under load' ? startLoops() : () => undefined;
  const began = performance.now();
  const options = {
    cwd,
    stdio: ['ignore', log.fd, log.fd],
    ...(isOther ? { ...OTHER, env: environmentOfOther() } : {}),
  };
  const child = started(process.execPath, argv, options);
  const code = await new Promise((resolve) => {
    child.once('close', resolve);
    child.once('error', () => resolve(null));
  });
  // With what its tests have left running.
  end(child);
  endLoops();
  await log.close();
  const seconds = Math.round((performance.now() - began) / 1000);
  const outcome = await readReport(report);
  return { ...outcome, seconds, isGood: code === 0 && outcome.failed.length === 0, code };
}

async function readReport(path) {
  try {
    const { numPassedTests, numFailedTests, numPendingTests, testResults } = JSON.parse(await readFile(path, 'utf8'));
    const failed = testResults.flatMap(({ name, status, message, assertionResults }) => {
      const file = name.replace(/^.*?\/(?=test\/)/, '');
      const tests = assertionResults
        .filter((test) => test.status === 'failed')
        .map(({ fullName }) => `${file}: ${fullName}`);
      return tests.length > 0 || status !== 'failed' ? tests : [`${file}: ${String(message).split('\n')[0]}`];
    });
    return { counts: `${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped`, failed };
  } catch (error) {
    return { counts: `no report (${error.message})`, failed: [] };
  }
}

await chmod(logs, 0o755);
const kinds = inOrder();
console.log(`${kinds.length} runs; their logs are in ${logs}`);
if (kinds.includes('as another user')) await copyForOther();
let bad = 0;
for (const [index, kind] of kinds.entries()) {
  const { counts, failed, seconds, isGood, code } = await runSuite(index + 1, kind);
  if (!isGood) bad += 1;
  const ending = isGood ? '' : `, exit code ${code}`;
  console.log(
    `${`${index + 1}/${kinds.length}`.padStart(5)}  ${kind.padEnd(15)}  ${String(seconds).padStart(4)} s  ${counts}${ending}`,
  );
  for (const name of failed) console.log(`         failed: ${name}`);
}
console.log(bad === 0 ? `all ${kinds.length} runs passed` : `${bad} of ${kinds.length} runs failed`);
process.exitCode = bad === 0 ? 0 : 1;
