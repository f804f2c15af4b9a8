import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildIfOlder } from '../build.js';
import { ROOT } from '../clone.js';
import { startKeyway } from '../commands/process.js';
import { blocksOf } from '../docs/markdown.js';

const run = promisify(execFile);

let folder = '';
/** Where the package was installed, and nothing else stands. */
let place = '';
let tarball = '';
/** Why the dependencies are this clone's own instead of installed ones; null when npm installed them. */
let withoutNetwork: string | null = null;
/** What npm said besides, while it installed. */
let complaints = '';

beforeAll(async () => {
  await buildIfOlder();
  folder = await mkdtemp(join(tmpdir(), 'keyway-package-'));
  place = join(folder, 'empty');
  await mkdir(place);
  await run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], { cwd: ROOT });
  tarball = join(folder, (await readdir(folder)).find((name) => name.endsWith('.tgz')) ?? '');
  await install();
}, 600_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What npm says when the registry is out of reach and its cache has not everything. */
const OUT_OF_REACH = /\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENOTCACHED)\b/;

async function install(): Promise<void> {
  const flags = ['--engine-strict', '--prefix', place, '--no-audit', '--no-fund'];
  const cached = ['--prefer-offline', '--fetch-retries', '0'];
  try {
    complaints = (await run('npm', ['install', ...flags, ...cached, tarball], { cwd: place })).stderr;
  } catch (error) {
    const words = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error);
    const [reason] = OUT_OF_REACH.exec(words) ?? [];
    if (reason === undefined) throw error;
    withoutNetwork = `npm cannot install here (${reason})`;
    process.stderr.write(`${withoutNetwork}: its tarball is tested with the dependencies of this clone\n`);
    await installFromClone();
  }
}

async function installFromClone(): Promise<void> {
  const modules = join(place, 'node_modules');
  await rm(modules, { recursive: true, force: true });
  await mkdir(join(modules, '.bin'), { recursive: true });
  await run('tar', ['-xzf', tarball, '-C', modules]);
  await run('mv', [join(modules, 'package'), join(modules, 'keyway')]);
  for (const name of await readdir(join(ROOT, 'node_modules'))) {
    if (!name.startsWith('.')) await symlink(join(ROOT, 'node_modules', name), join(modules, name));
  }
  await symlink('../keyway/dist/src/cli.js', join(modules, '.bin/keyway'));
}

async function packed(): Promise<readonly string[]> {
  const { stdout } = await run('tar', ['-tzf', tarball]);
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.replace(/^package\//, ''));
}

/** The files below a folder of this clone, as paths from its root. */
async function filesBelow(path: string): Promise<readonly string[]> {
  const entries = await readdir(join(ROOT, path), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length))
    .sort();
}

/** Every kind of file that belongs into the package. */
const WANTED: readonly RegExp[] = [
  /^(?:package\.json|README\.md|CHANGELOG\.md|CONTRIBUTING\.md)$/,
  /^dist\/command\/[\w-]+\.js$/,
  /^dist\/(?:src|revisions)\/.+(?:\.js|\.d\.ts)$/,
  /^dist\/src\/homes\/database\/schema\/\d+-[\w-]+\.sql$/,
  /^dist\/panel\/index\.html(?:\.gz|\.br)?$/,
  /^dist\/panel\/assets\/[^/]+\.(?:js|css|svg)(?:\.gz|\.br)?$/,
  /^fixtures\//,
  /^docs\//,
];

describe('the tarball', () => {
  it('holds command, types, panel, fixtures and documents, and nothing else', async () => {
    const files = await packed();
    expect(files.filter((path) => !WANTED.some((pattern) => pattern.test(path)))).toEqual([]);
    expect(files).toEqual(expect.arrayContaining(['dist/src/cli.js', 'dist/src/index.d.ts', 'dist/panel/index.html']));
    for (const shipped of ['fixtures', 'docs', 'dist/panel']) {
      const there = files.filter((path) => path.startsWith(`${shipped}/`)).sort();
      expect(there).toEqual(await filesBelow(shipped));
    }
  });

  it('names what the command loads later by its source, for a gateway that runs while another is built', async () => {
    const later = ['dns/channel', 'gateway/homes/database', 'commands/serve'];
    const expected = later.map((path) => `dist/command/${path.replaceAll('/', '-')}.js`);
    expect(await packed()).toEqual(expect.arrayContaining(expected));
  });

  it('holds nothing that was built from sources that are gone', async () => {
    const compiled = (await packed()).filter((path) => /^dist\/(?:src|revisions)\//.test(path));
    const source = (path: string) => path.replace(/^dist\//, '').replace(/(?:\.d\.ts|\.js)$/, '.ts');
    expect(compiled.filter((path) => !existsSync(join(ROOT, source(path))))).toEqual([]);
  });

  it('holds everything that its README links to', async () => {
    const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
    const links = [...readme.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, path]) => path);
    expect(links.length).toBeGreaterThan(0);
    expect(await packed()).toEqual(expect.arrayContaining(links));
  });

  it('takes no more than 60 MB with all that it depends on', async ({ skip }) => {
    if (withoutNetwork !== null) skip(withoutNetwork);
    const entries = await readdir(join(place, 'node_modules'), { recursive: true, withFileTypes: true });
    const sizes = entries
      .filter((entry) => entry.isFile())
      .map(async (entry) => (await stat(join(entry.parentPath, entry.name))).size);
    const size = (await Promise.all(sizes)).reduce((sum, each) => sum + each, 0);
    expect(size).toBeLessThan(60_000_000);
  });
});

describe('the package in an empty folder', () => {
  it('is installed without a script of it, or of what it depends on, waiting to be allowed', async ({ skip }) => {
    if (withoutNetwork !== null) skip(withoutNetwork);
    // npm says so since version 11; the names are those of the hidden lock, which every version writes.
    expect(complaints).not.toMatch(/install.scripts/i);
    const lock = JSON.parse(await readFile(join(place, 'node_modules/.package-lock.json'), 'utf8'));
    const packages: readonly (readonly [string, { readonly hasInstallScript?: boolean }])[] = Object.entries(
      lock.packages,
    );
    expect(packages.length).toBeGreaterThan(10);
    expect(packages.filter(([, { hasInstallScript }]) => hasInstallScript === true).map(([path]) => path)).toEqual([]);
    const { scripts } = JSON.parse(await readFile(join(place, 'node_modules/keyway/package.json'), 'utf8'));
    expect(Object.keys(scripts)).not.toContain('prepare');
  });

  // All others are played by test/acceptance/scenarios.test.ts.
  it('plays every scenario of its pack that is of the newest line, all equal', async () => {
    const { stdout, stderr } = await run(join(place, 'node_modules/.bin/keyway'), ['replay', '--revision', '0.4.7'], {
      cwd: place,
    });
    const files = (await filesBelow('fixtures')).filter((path) => path.endsWith('.json'));
    const texts = await Promise.all(files.map((path) => readFile(join(ROOT, path), 'utf8')));
    const scenarios = texts.filter((text) => /^ {2}"revision": "0\.4\.7",$/m.test(text));
    expect(scenarios.length).toBeGreaterThan(5);
    expect(stderr).toBe('');
    const [counts, verdict] = stdout.trimEnd().split('\n').slice(-2);
    expect(counts).toBe(`${scenarios.length} equal, 0 different, 0 skipped`);
    expect(verdict).toMatch(/^compatible as far as seen: (\d+) of \1 operations$/);
  }, 120_000);

  it('starts, with a file of its own, and answers with its panel', async () => {
    const command = join(place, 'node_modules/.bin/keyway');
    const serving = startKeyway(['start', '--bind', '127.0.0.1:0'], { folder: place, command });
    const { url } = await serving.logged((record) => record.url !== undefined);
    const { msg, ...fields } = await serving.logged(({ msg }) => String(msg).startsWith('Panel: '));
    // The address stands in the line once.
    expect(Object.keys(fields)).toEqual(['level', 'time']);
    const panel = await fetch(String(msg).replace('Panel: ', ''));
    expect(await panel.text()).toContain('<script');
    expect(panel.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect((await fetch(`${url}/nothing`)).status).toBe(404);
    serving.child.kill('SIGTERM');
    expect((await serving.ended).code).toBe(0);
    expect(existsSync(join(place, 'keyway.jsonc'))).toBe(true);
  });

  it("runs the guide's program as it stands", async () => {
    await copyFile(join(ROOT, 'fixtures/samples/server.jsonc'), join(place, 'server.jsonc'));
    const [program, ...others] = blocksOf(await readFile(join(ROOT, 'docs/embedding.md'), 'utf8')).filter(
      ({ language }) => language === 'js',
    );
    expect(others).toEqual([]);
    await writeFile(join(place, 'program.mjs'), program?.text ?? '');
    const { stdout } = await run(process.execPath, ['program.mjs'], { cwd: place });
    const output = stdout
      .replaceAll(/\s+/g, ' ')
      .replace(/uptime_seconds: \d+/, 'uptime_seconds: 0')
      .trim();
    expect(output).toBe(/ \/\/ (\{.*\})$/m.exec(program?.text ?? '')?.[1] ?? 'the comment that says what it prints');
  }, 120_000);

  it('is a library whose types resolve, and whose gateway answers', async () => {
    const program = `import { createGateway, type GatewayOptions } from 'keyway';
const options: GatewayOptions = { mounts: [{ revision: 'earliest' }], listener: { token: '' } };
const app = await createGateway(options);
const answer: { readonly statusCode: number; readonly body: string } = await app.inject('/api/server/status');
console.log(answer.statusCode, app.keyway.mounts[0]?.api);
await app.close();
`;
    await writeFile(join(place, 'program.mts'), program);
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
    const types = ['--typeRoots', join(ROOT, 'node_modules/@types'), '--types', 'node'];
    const flags = ['--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', '--target', 'es2023', ...types];
    const modules = ['--module', 'nodenext', '--moduleResolution', 'nodenext'];
    await run(process.execPath, [compiler, ...flags, ...modules, 'program.mts'], { cwd: place });
    const { stdout } = await run(process.execPath, ['program.mjs'], { cwd: place });
    expect(stdout).toBe('200 /api\n');
  });
});
