// `npm run flicker`: runs the whole suite ten times, each time under other circumstances, and says of each run what it took
// and what failed. `--kind NAME`, also several times, runs these kinds instead; what else is given goes to vitest:
// `npm run flicker -- --kind plain --kind plain test/core`. Exit code 1 when anything failed.
import { execFile, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { chown, cp, mkdtemp, open, readFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { delimiter, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Nobody, on most systems. */
const OTHER = { uid: 65_534, gid: 65_534 };
/** Busy until whatever started it is gone, even if that was killed. */
const LOOP = 'const parent = process.ppid; while (process.ppid === parent);';

const logs = mkdtempSync(join(tmpdir(), 'keyway-flicker-'));
chmodSync(logs, 0o755);
/** Processes that must not outlive this one. */
const children = new Set();

/** What each kind of run changes: where the clone stands, who runs it, in which environment, on which Node. */
const KINDS = {
  plain: async () => ({}),
  'another user': async () => {
    if (process.getuid?.() !== 0) return { leftOut: 'only root can start it' };
    const place = folderOf('other', 0o755);
    const cwd = await copyTo(join(place, 'keyway'));
    for (const name of ['home', 'tmp']) mkdirSync(join(place, name));
    await run('chown', ['-R', `${OTHER.uid}:${OTHER.gid}`, place]);
    const env = { HOME: join(place, 'home'), TMPDIR: join(place, 'tmp'), USER: 'nobody', LOGNAME: 'nobody' };
    return { cwd, env, user: OTHER };
  },
  'closed folder': async () => ({ cwd: await copyTo(join(folderOf('closed', 0o700), 'keyway')) }),
  'under load': async () => ({ underLoad: true }),
  'temporary files on disk': async () => {
    const TMPDIR = await mkdtemp('/var/tmp/keyway-flicker-');
    // PostgreSQL, which root must run as another user, has its folder there.
    chmodSync(TMPDIR, 0o755);
    return { env: { TMPDIR } };
  },
  'blank in the path': async () => ({ cwd: await copyTo(join(folderOf('blank', 0o755), 'a clone', 'keyway')) }),
  'Node 22': async () => ({ node: await nodeOf('22') }),
  'newest Node': async () => ({ node: await nodeOf('latest') }),
};
const TEN = [
  'another user',
  'closed folder',
  'under load',
  'temporary files on disk',
  'blank in the path',
  'another user',
  'closed folder',
  'under load',
  'Node 22',
  'newest Node',
];

const { values: given, positionals: testFiles } = parseArgs({
  allowPositionals: true,
  options: { kind: { type: 'string', multiple: true } },
});
const kinds = given.kind ?? TEN;
const unknown = kinds.find((kind) => !(kind in KINDS));
if (unknown !== undefined) {
  console.error(`--kind ${unknown}: expected one of: ${Object.keys(KINDS).join(', ')}`);
  process.exit(2);
}

function cleanUp() {
  for (const child of children) end(child);
  for (const name of ['other', 'closed', 'blank', 'node-22', 'node-latest'])
    rmSync(join(logs, name), { recursive: true, force: true });
}
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
])
  process.on(signal, () => process.exit(code));
process.on('exit', cleanUp);

function folderOf(name, mode) {
  const folder = join(logs, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { mode });
  return folder;
}

/** Makes a clone with the files of this one that git knows or would, what npm has installed, and what is built. */
async function copyTo(tree) {
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { stdout } = await run('git', ['-c', 'safe.directory=*', ...list], { cwd: ROOT, maxBuffer: 2 ** 26 });
  // Some tests clone what they stand in, whoever owns it.
  const uploadPack = ['--upload-pack', 'git -c safe.directory=* upload-pack'];
  await run('git', ['clone', '--quiet', '--no-checkout', '--depth', '1', ...uploadPack, `file://${ROOT}`, tree]);
  const isCache = (path) => relative(ROOT, path).startsWith('node_modules/.');
  const filter = (path) => !isCache(path) || path.includes('node_modules/.bin') || path.endsWith('.package-lock.json');
  const options = { recursive: true, preserveTimestamps: true, verbatimSymlinks: true, filter };
  for (const name of [...stdout.split('\0').filter((one) => one !== ''), 'node_modules', 'dist']) {
    await cp(join(ROOT, name), join(tree, name), options).catch((error) => {
      // A file that git still lists, but that was removed by hand.
      if (error.code !== 'ENOENT') throw error;
    });
  }
  return tree;
}

/** Installs a version of Node; resolves to the folder of its program. */
async function nodeOf(version) {
  const folder = folderOf(`node-${version}`, 0o755);
  await run('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--prefix', folder, `node@${version}`]);
  return join(folder, 'node_modules/node/bin');
}

function startLoops() {
  const loops = Array.from({ length: availableParallelism() }, () =>
    started('nice', [process.execPath, '-e', LOOP], { stdio: 'ignore' }),
  );
  return () => {
    for (const loop of loops) end(loop);
  };
}

/** Starts a group of processes of its own, which ends as one. */
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

/** Runs the suite once; resolves to what its report says. */
async function runSuite(number, kind, { cwd = ROOT, env = {}, user, node, underLoad = false }) {
  const folder = join(logs, `${String(number).padStart(2, '0')}-${kind.replaceAll(' ', '-')}`);
  mkdirSync(folder);
  if (user !== undefined) await chown(folder, user.uid, user.gid);
  const report = join(folder, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  // The loader of `npm test`, which writes nothing into the clone.
  const settings = ['--configLoader', 'runner', '--config', 'vitest.every.config.ts'];
  const suite = ['node', join(cwd, 'node_modules/vitest/vitest.mjs'), 'run', ...settings];
  const log = await open(join(folder, 'log'), 'w');
  const endLoops = underLoad ? startLoops() : () => undefined;
  const seed = String(Date.now() % 1_000_000);
  const began = performance.now();
  // Nothing of npm's or of the session in which this was started.
  const inherited = Object.entries(process.env).filter(([name]) => !/^(npm_|XDG_|KEYWAY_|INIT_CWD$)/i.test(name));
  const path = node === undefined ? process.env.PATH : [node, process.env.PATH].join(delimiter);
  const child = started('sh', ['-c', '"$@"; code=$?; times; exit $code', 'sh', ...suite, ...reporters, ...testFiles], {
    cwd,
    stdio: ['ignore', log.fd, log.fd],
    // Each run tries other things, where the tests of one tree make up the same.
    env: { ...Object.fromEntries(inherited), PATH: path, TEST_SEED: seed, ...env },
    ...user,
  });
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
  const text = await readFile(join(folder, 'log'), 'utf8');
  return { ...outcome, ...processorTime(text), seed, leftOut: leftOut(text), seconds, isGood: code === 0, code };
}

/** Reads the processor seconds of the children from the last line of the shell's `times`. */
function processorTime(log) {
  const [, minutes, seconds, systemMinutes, systemSeconds] =
    /(\d+)m([\d.]+)s (\d+)m([\d.]+)s\s*$/.exec(log)?.map(Number) ?? [];
  return { processor: Math.round((minutes + systemMinutes) * 60 + seconds + systemSeconds) };
}

/** Finds why tests were skipped, as they say it. */
function leftOut(log) {
  return [...new Set([...log.matchAll(/^(?:skipped without|left out).*$/gm)].map(([line]) => line))];
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

console.log(`${kinds.length} runs; their logs are in ${logs}`);
let bad = 0;
const reasons = new Set();
for (const [index, kind] of kinds.entries()) {
  const place = await KINDS[kind]();
  const head = `${`${index + 1}/${kinds.length}`.padStart(5)}  ${kind.padEnd(23)}`;
  if (place.leftOut !== undefined) {
    console.log(`${head}  left out: ${place.leftOut}`);
    continue;
  }
  const ran = await runSuite(index + 1, kind, place);
  if (place.env?.TMPDIR?.startsWith('/var/tmp/')) rmSync(place.env.TMPDIR, { recursive: true, force: true });
  if (!ran.isGood) bad += 1;
  for (const reason of ran.leftOut) reasons.add(reason);
  const ending = ran.isGood ? '' : `, exit code ${ran.code}`;
  console.log(
    `${head}  ${String(ran.seconds).padStart(4)} s  ${ran.processor} s of processor  ${ran.counts}, seed ${ran.seed}${ending}`,
  );
  for (const name of ran.failed) console.log(`         failed: ${name}`);
}
for (const reason of reasons) console.log(reason);
console.log(bad === 0 ? `all ${kinds.length} runs passed` : `${bad} of ${kinds.length} runs failed`);
process.exitCode = bad === 0 ? 0 : 1;
