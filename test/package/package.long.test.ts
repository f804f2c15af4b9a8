import { copyFile, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from '../clone.js';
import { blocksOf } from '../docs/markdown.js';
import { filesBelow, installPackage, run } from './install-package.js';

let installed: Awaited<ReturnType<typeof installPackage>>;
let place = '';

beforeAll(async () => {
  installed = await installPackage();
  ({ place } = installed);
}, 600_000);
afterAll(() => installed.remove());

describe('the package in an empty folder', () => {
  it('is installed without a script of it, or of what it depends on, waiting to be allowed', async ({ skip }) => {
    if (installed.withoutNetwork !== null) skip(installed.withoutNetwork);
    // npm says so since version 11; the names are those of the hidden lock, which every version writes.
    expect(installed.complaints).not.toMatch(/install.scripts/i);
    const lock = JSON.parse(await readFile(join(place, 'node_modules/.package-lock.json'), 'utf8'));
    const packages: readonly (readonly [string, { readonly hasInstallScript?: boolean }])[] = Object.entries(
      lock.packages,
    );
    expect(packages.length).toBeGreaterThan(10);
    expect(packages.filter(([, { hasInstallScript }]) => hasInstallScript === true).map(([path]) => path)).toEqual([]);
    const { scripts } = JSON.parse(await readFile(join(place, 'node_modules/keyway/package.json'), 'utf8'));
    expect(Object.keys(scripts)).not.toContain('prepare');
  });

  it('takes no more than 60 MB with all that it depends on', async ({ skip }) => {
    if (installed.withoutNetwork !== null) skip(installed.withoutNetwork);
    const entries = await readdir(join(place, 'node_modules'), { recursive: true, withFileTypes: true });
    const sizes = entries
      .filter((entry) => entry.isFile())
      .map(async (entry) => (await stat(join(entry.parentPath, entry.name))).size);
    const size = (await Promise.all(sizes)).reduce((sum, each) => sum + each, 0);
    expect(size).toBeLessThan(60_000_000);
  });

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
});
