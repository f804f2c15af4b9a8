import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from '../clone.js';
import { startKeyway } from '../commands/process.js';
import { filesBelow, type PackedPackage, run, unpackPackage } from './install-package.js';

let installed: PackedPackage;
let place = '';

beforeAll(async () => {
  installed = await unpackPackage();
  ({ place } = installed);
}, 600_000);
afterAll(() => installed.remove());

async function packed(): Promise<readonly string[]> {
  const { stdout } = await run('tar', ['-tzf', installed.tarball]);
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.replace(/^package\//, ''));
}

/** Every kind of file that belongs into the package. */
const WANTED: readonly RegExp[] = [
  /^(?:package\.json|README\.md|CHANGELOG\.md|CONTRIBUTING\.md)$/,
  /^dist\/(?:command\/[\w-]+\.js|commit\.txt)$/,
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
      const wanted = (await filesBelow(shipped)).filter((path) => path !== 'docs/design.md');
      expect(there).toEqual(wanted);
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
});

describe('the package in an empty folder', () => {
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

  it('tells its version and the commit that it was built from, and is the archive that docs/deploy.md installs', async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    const { stdout } = await run(join(place, 'node_modules/.bin/keyway'), ['--version'], { cwd: place });
    const commit = (await readFile(join(place, 'node_modules/keyway/dist/commit.txt'), 'utf8')).trim();
    expect(stdout).toBe(commit === '' ? `${version}\n` : `${version} (commit ${commit})\n`);
    const page = await readFile(join(ROOT, 'docs/deploy.md'), 'utf8');
    expect(page).toContain(`npm install --global ./${basename(installed.tarball)}`);
  });
});
