// `node scripts/house.mjs`: prints the size of the code and what one request enters, as figures to steer by (docs/design.md).
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { Session } from 'node:inspector';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const HERE = fileURLToPath(import.meta.url);
/** What `npm run build` makes puts many files into one: here each is by itself. */
const BUILT = join(ROOT, 'dist-by-file');
/** Of the sample that is served. */
const TOKEN = 'sample-static-token';
/** Method, path and body of what is counted. */
const REQUESTS = {
  'POST /users': ['POST', '/api/users', '{"name":"counted"}'],
  'GET /users': ['GET', '/api/users'],
  'a share link': ['GET', '/api/users/guest-2026/share'],
};
/** How often each is sent before, so that nothing counts that is done once. */
const WARM = 20;

if (process.argv[1] === HERE) await printFigures();
else countOnDemand();

async function printFigures() {
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(ROOT, 'src', name));
  const read = new Map(sources.map((path) => [path, readFileSync(path, 'utf8')]));
  const linesOf = (paths) => paths.reduce((sum, path) => sum + codeLines(read.get(path)), 0);
  const served = reachable(join(ROOT, 'src/commands/serve.ts'), read);
  const arrows = arrowsOf(read);
  print('lines of code of src', linesOf(sources));
  print('of them reached by serve', linesOf(served));
  print('rooms', new Set([...read.keys()].map(roomOf)).size);
  print('arrows', arrows.size);
  const folder = mkdtempSync(join(tmpdir(), 'keyway-house-'));
  try {
    execFileSync('npx', ['tsc', '-p', 'tsconfig.build.json', '--outDir', BUILT], { cwd: ROOT, stdio: 'inherit' });
    copyFileSync(join(ROOT, 'fixtures/samples/server.jsonc'), join(folder, 'server.jsonc'));
    const server = await serving(['--config', join(folder, 'server.jsonc')]);
    await printEntered('over a file', server);
    const front = await serving([
      '--upstream',
      server.url,
      '--upstream-token',
      TOKEN,
      '--data-dir',
      join(folder, 'front'),
    ]);
    await printEntered('in front', front);
    await front.end();
    await server.end();
  } finally {
    rmSync(folder, { recursive: true });
    rmSync(BUILT, { recursive: true, force: true });
  }
}

function print(name, value) {
  process.stdout.write(`${name.padEnd(36)} ${String(value).padStart(8)}\n`);
}

/** The lines that are neither blank nor comment: the formatter begins each line of a comment with its sign. */
function codeLines(text) {
  return text.split('\n').filter((line) => !/^\s*(?:$|\/\/|\/\*|\*)/.test(line)).length;
}

/** The files that a source loads sooner or later, types not among them. */
function importsOf(path, text) {
  const loaded =
    /^(?:import|export)(?! type) [^;]*?from '(\.[^']+)\.js'|\bimport\('(\.[^']+)\.js'\)|^import '(\.[^']+)\.js'/gm;
  return [...text.matchAll(loaded)].map((found) => `${resolve(dirname(path), found[1] ?? found[2] ?? found[3])}.ts`);
}

function reachable(entry, read, found = new Set()) {
  if (found.has(entry) || !read.has(entry)) return [...found];
  found.add(entry);
  for (const path of importsOf(entry, read.get(entry))) reachable(path, read, found);
  return [...found];
}

/** The folder that a file of src stands in: `homes` and `commands` have rooms of their own below them. */
function roomOf(path) {
  const parts = relative(join(ROOT, 'src'), path).split('/').slice(0, -1);
  return (parts[0] === 'homes' ? parts.slice(0, 2) : parts.slice(0, 1)).join('/') || 'src';
}

/** Who imports whom, from room to room. */
function arrowsOf(read) {
  const arrows = new Set();
  for (const [path, text] of read)
    for (const target of importsOf(path, text))
      if (read.has(target) && roomOf(target) !== roomOf(path)) arrows.add(`${roomOf(path)} ${roomOf(target)}`);
  return arrows;
}

/** A built gateway that counts what it enters, at the web path of the sample; it ends with `end`. */
async function serving(args) {
  const child = fork(
    join(BUILT, 'src/program.js'),
    ['serve', ...args, '--revision', 'latest', '--no-resolver', '--bind', '127.0.0.1:0'],
    {
      execArgv: ['--import', HERE],
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    },
  );
  for await (const line of createInterface(child.stdout)) {
    const [mount] = JSON.parse(line).mounts ?? [];
    if (mount === undefined) continue;
    child.stdout.resume();
    return { url: mount.api.slice(0, -'/api'.length), child, end: () => ended(child) };
  }
  throw new Error('the gateway ended before it listened');
}

async function ended(child) {
  child.kill('SIGTERM');
  await once(child, 'close');
}

async function printEntered(where, { url, child }) {
  for (const [name, [method, path, body]] of Object.entries(REQUESTS)) {
    const send = async () => {
      const response = await fetch(url + path, {
        method,
        body,
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      });
      if (!response.ok) throw new Error(`${name}, ${where}: ${response.status} ${await response.text()}`);
      await response.text();
    };
    for (let sent = 0; sent < WARM; sent += 1) await send();
    await counted(child);
    await send();
    const entered = await counted(child);
    print(
      `${name}, ${where}: functions`,
      entered.reduce((sum, { functions }) => sum + functions, 0),
    );
    print(`${name}, ${where}: files`, entered.length);
  }
}

/** What a gateway entered since it was last asked: the files of Keyway, each with how many of its functions. */
async function counted(child) {
  child.send('count');
  const [entered] = await once(child, 'message');
  return entered;
}

/** In a gateway: answers each message with what was entered since the last one. */
function countOnDemand() {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const ours = pathToFileURL(`${BUILT}/`).href;
  process.on('message', () =>
    session.post('Profiler.takePreciseCoverage', (error, taken) => {
      if (error !== null) throw error;
      const files = taken.result.filter(({ url }) => url.startsWith(ours));
      // What starts with the file is the file itself.
      const isEntered = ({ ranges: [range] }) => range.count > 0 && range.startOffset > 0;
      const called = files.map(({ url, functions }) => ({ url, functions: functions.filter(isEntered).length }));
      process.send(called.filter(({ functions }) => functions > 0));
    }),
  );
  process.on('disconnect', () => process.exit());
  process.channel.unref();
}
