import { execFile } from 'node:child_process';
import { copyFile, mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { buildIfOlder } from '../build.js';
import { CLI, ROOT } from '../clone.js';
import { folderForTest } from '../folder-for-test.js';

/** Runs a script as a Node of another version would, as far as the script sees. */
async function runOn(version: string | null, script: string, argv: readonly string[] = []) {
  const fake = `Object.defineProperty(process, 'version', { value: '${version}' })`;
  const options = version === null ? [] : ['--import', `data:text/javascript,${encodeURIComponent(fake)}`];
  return promisify(execFile)(process.execPath, [...options, script, ...argv]).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}

const sentence = (version: string) =>
  `Keyway needs Node 20.19 or later, and this is ${version} (${process.execPath}): install a later one, or put it first in PATH\n`;

describe('an old Node', () => {
  beforeAll(buildIfOlder);

  it.each(['v18.20.8', 'v20.18.3', 'v12.22.12'])('%s is told so in one sentence, with exit code 2', async (version) => {
    expect(await runOn(version, CLI, ['start'])).toEqual({ code: 2, stdout: '', stderr: sentence(version) });
    const build = join(ROOT, 'scripts/check-node.mjs');
    expect(await runOn(version, build)).toEqual({ code: 2, stdout: '', stderr: sentence(version) });
    const start = join(ROOT, 'scripts/start.mjs');
    expect(await runOn(version, start)).toEqual({ code: 2, stdout: '', stderr: sentence(version) });
  });

  it.each(['v20.19.0', 'v22.0.0', 'v30.1.0'])('%s is none', async (version) => {
    expect((await runOn(version, CLI, ['--version'])).code).toBe(0);
  });
});

describe('npm start', () => {
  /** A clone whose build writes a command that prints its arguments. */
  async function clone(build: string) {
    const folder = await folderForTest();
    for (const path of ['scripts', 'src', 'src/text', 'revisions', 'panel']) await mkdir(join(folder, path));
    for (const path of [
      'scripts/start.mjs',
      'scripts/check-node.mjs',
      'scripts/finish-build.mjs',
      'tsconfig.json',
      'tsconfig.build.json',
      'vite.config.ts',
    ])
      await copyFile(join(ROOT, path), join(folder, path));
    const manifest = { type: 'module', engines: { node: '>=20.19' }, scripts: { build } };
    await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
    await writeFile(
      join(folder, 'build.mjs'),
      `import { mkdirSync, writeFileSync } from 'node:fs';
for (const folder of ['dist/src', 'dist/panel']) mkdirSync(folder, { recursive: true });
writeFileSync('dist/src/cli.js', 'console.log(JSON.stringify(process.argv.slice(2)));');
for (const path of ['dist/panel/index.html', 'dist/.built']) writeFileSync(path, '');
`,
    );
    const start = () => runOn(null, join(folder, 'scripts/start.mjs'), ['--bind', '127.0.0.1:0']);
    return { folder, start };
  }

  it('builds what is missing, then what is older than its sources, and nothing else', async () => {
    const { folder, start } = await clone('node build.mjs');
    const stdout = '["start","--bind","127.0.0.1:0"]\n';
    const building = (age: string) => `The build is ${age}: npm run build, which takes some seconds\n`;
    expect(await start()).toEqual({ code: 0, stdout, stderr: building('missing') });
    expect(await start()).toEqual({ code: 0, stdout, stderr: '' });
    const later = Date.now() / 1000 + 60;
    for (const path of ['src/new.ts', 'scripts/finish-build.mjs']) {
      await writeFile(join(folder, path), '');
      await utimes(join(folder, path), later, later);
      expect(await start()).toEqual({ code: 0, stdout, stderr: building('older than its sources') });
      await utimes(join(folder, path), 1, 1);
      expect(await start()).toEqual({ code: 0, stdout, stderr: '' });
    }
  });

  it('names the command where the build fails, as without what builds it', async () => {
    const { start } = await clone('no-such-compiler');
    const { code, stdout, stderr } = await start();
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^The build failed\. .*: npm ci, and then npm start$/m);
  });
});
