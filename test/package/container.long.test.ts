import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, chown, copyFile, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { satisfies } from 'semver';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { parse } from 'yaml';
import { buildIfOlder } from '../build.js';
import { CLI, ROOT } from '../clone.js';
import { freePorts } from '../free-ports.js';
import { otherUser } from '../other-user.js';
import { execWords, lastStage, readInstructions, variablesOf } from './dockerfile.js';

const instructions = readInstructions(await readFile(join(ROOT, 'Dockerfile'), 'utf8'));
const image = lastStage(instructions);
const textOf = (name: string) => image.find((instruction) => instruction.name === name)?.text ?? '';

/** Copies what an image holds to where every user may read it, wherever this clone stands; resolves to the path of the command. */
async function copyInstallation(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'keyway-image-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await chmod(folder, 0o755);
  const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8'));
  const needed = Object.keys(packages).filter((path) => path !== '' && packages[path].dev !== true);
  for (const path of ['package.json', 'dist', ...needed])
    if (existsSync(join(ROOT, path))) await cp(join(ROOT, path), join(folder, path), { recursive: true });
  return join(folder, relative(ROOT, CLI));
}

describe('Dockerfile', () => {
  it('copies only what exists and what .dockerignore lets through', async () => {
    const ignore = await readFile(join(ROOT, '.dockerignore'), 'utf8');
    const kept = ignore.split('\n').flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []));
    const copied = instructions.filter(({ name, text }) => name === 'COPY' && !text.startsWith('--from'));
    const sources = copied.flatMap(({ text }) => text.split(' ').slice(0, -1)).filter((source) => source !== '.');
    expect(sources.length).toBeGreaterThan(0);
    for (const source of sources) {
      expect(existsSync(join(ROOT, source)), source).toBe(true);
      expect(kept).toContain(source);
    }
    for (const path of kept.filter((each) => !each.includes('*')))
      expect(existsSync(join(ROOT, path)), path).toBe(true);
    expect(ignore.split('\n')).toContain('*');
  });

  it('and the compose files name every image that is not built here by one exact tag', async () => {
    const files = ['compose.yaml', 'docs/proxy/compose.yaml', 'docs/database/compose.yaml'];
    const composed = await Promise.all(files.map((file) => readFile(join(ROOT, file), 'utf8')));
    const images = [
      ...instructions.filter(({ name }) => name === 'FROM').map(({ text }) => text.split(' ')[0] ?? ''),
      ...composed.flatMap((text) => [...text.matchAll(/^\s*image: (\S+)$/gm)].map(([, named = '']) => named)),
    ];
    const others = [...new Set(images)].filter((named) => named !== 'keyway');
    expect(others.toSorted()).toEqual([
      expect.stringMatching(/^nginx:\d+\.\d+\.\d+$/),
      expect.stringMatching(/^node:\d+\.\d+\.\d+-[\w-]+$/),
      expect.stringMatching(/^postgres:\d+\.\d+$/),
    ]);
  });

  it('lets through everything that the package ships and its build reads', async () => {
    const ignore = await readFile(join(ROOT, '.dockerignore'), 'utf8');
    const { files } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    const shipped = files.filter((file: string) => !file.startsWith('!'));
    const roots = shipped.map((file: string) => file.split('/')[0]).filter((root: string) => root !== 'dist');
    const { include } = JSON.parse(await readFile(join(ROOT, 'tsconfig.build.json'), 'utf8'));
    for (const path of [...roots, ...include, 'panel', 'scripts', 'package.json', 'README.md', 'vite.config.ts'])
      expect(ignore.split('\n')).toContain(`!${path}`);
  });

  it('takes one base of an exact version, which package.json lets it have', async () => {
    const { engines } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    const bases = instructions.filter(({ name }) => name === 'FROM').map(({ text }) => text.split(' ')[0] ?? '');
    const [version = ''] = new Set(bases.map((base) => /^node:(24\.\d+\.\d+)-bookworm-slim$/.exec(base)?.[1]));
    expect(new Set(bases)).toEqual(new Set([`node:${version}-bookworm-slim`]));
    expect(satisfies(version, engines.node)).toBe(true);
  });

  it('runs as somebody other than root, in exec form, so that signals reach Keyway itself', () => {
    expect(textOf('USER')).toBe('node');
    expect(execWords(textOf('ENTRYPOINT'))).toEqual(['keyway']);
    expect(execWords(textOf('CMD'))).toEqual(['serve']);
    expect(image.map(({ name }) => name)).not.toContain('VOLUME');
  });
});

describe('compose.yaml', () => {
  it('writes a starter file into an empty folder as the user of the image, and goes on with it at the next start', async () => {
    await buildIfOlder();
    const { keyway } = parse(await readFile(join(ROOT, 'compose.yaml'), 'utf8')).services;
    expect(image.find(({ name }) => name === 'RUN')?.text).toContain('install -d -o node -g node /config');
    const empty = await mkdtemp(join(tmpdir(), 'keyway-volume-'));
    onTestFinished(() => rm(empty, { recursive: true }));
    const [uid = 0, gid = 0] = keyway.user.split(':').map(Number);
    const user = await otherUser({ uid, gid });
    if (user !== null) await chown(empty, uid, gid);
    const cli = await copyInstallation();
    const [api, ops] = await freePorts(2);
    const env = {
      PATH: process.env.PATH,
      ...variablesOf(image),
      KEYWAY_CONFIG: join(empty, 'server.jsonc'),
      KEYWAY_BIND: `0.0.0.0:${api}`,
      KEYWAY_OPS_BIND: `127.0.0.1:${ops}`,
      ...keyway.environment,
    };
    const startOnce = async () => {
      const gateway = spawn(process.execPath, [cli, ...keyway.command], { env, cwd: empty, ...user });
      onTestFinished(() => void gateway.kill('SIGKILL'));
      const lines: string[] = [];
      for await (const line of createInterface({ input: gateway.stdout })) {
        lines.push(JSON.parse(line).msg);
        if (line.includes('"Panel: ')) gateway.kill('SIGTERM');
      }
      expect(gateway.exitCode ?? (await once(gateway, 'close'))[0]).toBe(0);
      return lines;
    };
    const first = await startOnce();
    const panel = first.find((line) => line.startsWith('Panel: '));
    expect(first[0]).toBe(`Wrote the starter file ${join(empty, 'server.jsonc')}`);
    expect(await readFile(join(empty, 'server.password'), 'utf8')).toMatch(/^\S+\n$/);
    const second = await startOnce();
    expect(second).toContain(panel);
    expect(second.join('\n')).not.toContain('starter');
  }, 120_000);
});

describe("the image's commands", () => {
  let folder = '';
  beforeAll(async () => {
    await buildIfOlder();
    folder = await mkdtemp(join(tmpdir(), 'keyway-container-'));
    await mkdir(join(folder, 'bin'));
    await symlink(CLI, join(folder, 'bin/keyway'));
    await copyFile(join(ROOT, 'fixtures/samples/server.jsonc'), join(folder, 'server.jsonc'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('serve, tell of their health, and end at SIGTERM with exit code 0', async () => {
    const [api, ops] = await freePorts(2);
    const variables = variablesOf(image);
    expect(variables.KEYWAY_CONFIG).toBe('/config/server.jsonc');
    const env = {
      PATH: [join(folder, 'bin'), process.env.PATH].join(delimiter),
      ...variables,
      KEYWAY_CONFIG: join(folder, 'server.jsonc'),
      KEYWAY_BIND: variables.KEYWAY_BIND?.replace(/\d+$/, String(api)) ?? '',
      KEYWAY_OPS_BIND: variables.KEYWAY_OPS_BIND?.replace(/\d+$/, String(ops)) ?? '',
      KEYWAY_NO_RESOLVER: 'true',
    };
    const start = (words: readonly string[]) => {
      const [program = '', ...argv] = words;
      return spawn(program, argv, { env, cwd: folder, stdio: 'ignore' });
    };
    const check = execWords(textOf('HEALTHCHECK').replace(/^.*?CMD /, ''));
    const healthy = async () => (await once(start(check), 'close'))[0] === 0;
    expect(await healthy()).toBe(false);
    const gateway = start([...execWords(textOf('ENTRYPOINT')), ...execWords(textOf('CMD'))]);
    const ended = once(gateway, 'close');
    onTestFinished(() => void gateway.kill('SIGKILL'));
    const isWell = () =>
      fetch(`http://127.0.0.1:${ops}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      );
    await vi.waitUntil(isWell, { timeout: 50_000, interval: 50 });
    expect(await healthy()).toBe(true);
    // It is well from its first moment on, before it has read its file.
    const isServing = () =>
      fetch(`http://127.0.0.1:${api}/`).then(
        () => true,
        () => false,
      );
    await vi.waitUntil(isServing, { timeout: 50_000, interval: 50 });
    await writeFile(join(folder, 'server.jsonc'), '{');
    await vi.waitUntil(async () => !(await isWell()), { timeout: 50_000, interval: 50 });
    expect(await healthy()).toBe(false);
    gateway.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  }, 120_000);
});
