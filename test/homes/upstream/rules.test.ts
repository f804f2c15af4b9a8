import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { DEFAULT_RESOLVER } from '../../../src/core/dns-settings.js';
import type { OutboundRule } from '../../../src/core/model.js';
import { createFileSystem } from '../../../src/platform/file-system.js';
import { folderForTest } from '../../folder-for-test.js';
import { freePort } from '../../free-ports.js';
import { createKey } from '../../ports/key-changes.js';
import type { Step } from '../../stand-in/file.js';
import { apiOf, CREDENTIALS, INBOUNDS_FILE, ROOT_LIST_FILE } from '../../stand-in/files.js';
import { type StandInOptions, startStandIn } from '../../stand-in/stand-in.js';
import { keysOf } from '../../stand-in/test-stand-in.js';
import { createFastClock, createFastTimers } from './fast-time.js';
import { openFrontBackend } from './open-front.js';

const ROUTED = ROOT_LIST_FILE.replace('"mode"', '"outbound": { "rules": [] }, "mode"');
const RULE: OutboundRule = { domainSuffix: ['.a'], ipCidr: [], protocol: null, action: 'direct' };

/** A Keyway in front of a server over a file of its own. */
async function front(
  line: string,
  text: string,
  options: (file: string) => Partial<StandInOptions> = () => ({}),
  factor = 1,
) {
  const folder = await folderForTest();
  const file = join(folder, 'server.jsonc');
  await writeFile(file, text);
  const common = { line, file, port: await freePort(), reloadFactor: 20, pauseMilliseconds: 3 };
  const standIn = await startStandIn({ ...common, ...options(file) });
  const logged: string[] = [];
  const say = (_: object, message: string) => void logged.push(message);
  const dataFolder = join(folder, 'front.keyway');
  const backend = await openFrontBackend({
    url: standIn.origin + standIn.paths.base,
    credentials: { token: CREDENTIALS.token, operator: null },
    clock: createFastClock(factor),
    timers: createFastTimers(factor),
    dataFolder,
    fileSystem: createFileSystem(),
    log: { debug() {}, info() {}, warn: say, error: say },
  });
  onTestFinished(async () => {
    await backend.close();
    await standIn.close();
  });
  const versions = async () => (await readdir(join(dataFolder, 'versions'))).filter((name) => name.endsWith('.gz'));
  return { standIn, backend, file, logged, versions };
}

describe.each([
  ['0.2.86', ROUTED],
  ['0.2.96', ROUTED],
  ['0.3.21', INBOUNDS_FILE],
])('a change of rules on %s', (line, text) => {
  test('leaves the file whole although somebody writes comments into it between two changes', async () => {
    const { standIn, backend, file, versions } = await front(line, `// at first\n${text}`);
    await backend.replaceRules([RULE]);
    await writeFile(file, `// and again\n${await readFile(file, 'utf8')}`);
    await backend.replaceRules([]);
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ mode: 'server' });
    expect((await versions()).length).toBeGreaterThanOrEqual(1);
    await standIn.restart();
    expect(keysOf(standIn)).toEqual(['alpha', 'beta']);
  });

  test('that leaves null of it all the same is put right at once, and what stood there stays a version for ever', async () => {
    const comment = (file: string) => async (at: Step) => {
      if (at === 'rules: asked') await writeFile(file, `// just now\n${await readFile(file, 'utf8')}`);
    };
    const { standIn, backend, file, logged, versions } = await front(line, text, (path) => ({ pause: comment(path) }));
    await backend.replaceRules([RULE]);
    const left = JSON.parse(await readFile(file, 'utf8'));
    expect(left).toMatchObject({ mode: 'server' });
    if (line !== '0.3.21') expect(left.outbound.rules).toMatchObject([{ domain_suffix: ['.a'], action: 'direct' }]);
    expect(logged.join()).toMatch(/destroyed/);
    expect((await versions()).filter((name) => name.includes('forever'))).toHaveLength(1);
    await standIn.restart();
    expect(keysOf(standIn)).toEqual(['alpha', 'beta']);
  });

  test('is refused where the server takes no configuration of that size, and nothing is changed', async () => {
    const { standIn, backend, file } = await front(line, `// stays\n${text}`, () => ({
      mostBodyBytes: 300,
      pauseMilliseconds: 0,
    }));
    await expect(backend.replaceRules([])).rejects.toMatchObject({
      code: 'configRefused',
      detail: expect.stringMatching(/^the server refuses \d+ bytes for their size$/),
    });
    await createKey(backend, { accessKey: 'one', name: null, limitBytes: null });
    expect(keysOf(standIn)).toEqual(['alpha', 'beta', 'one']);
    expect(await readFile(file, 'utf8')).toContain('"alpha"');
  });
});

test('of the rules that are stored for 0.3.21 a start keeps those that proxy, and no others', async () => {
  const { standIn, backend, file } = await front('0.3.21', INBOUNDS_FILE, () => ({}), 20);
  const rules = (['block', 'proxy', 'direct'] as const).map((action) => ({ ...RULE, domainSuffix: [action], action }));
  await backend.replaceRules(rules);
  expect(standIn.rules()).toEqual(rules);
  const inFile = async () => JSON.parse(await readFile(file, 'utf8')).routing.rules;
  await expect.poll(async () => (await inFile().catch(() => [])).length).toBe(3);
  await standIn.restart();
  expect(standIn.rules()).toEqual([rules[1]]);
});

test('DNS settings that others change on a server of an older form count beside what that cannot say of those of 0.4.6', async () => {
  const { standIn, backend } = await front('0.2.51', ROUTED);
  await backend.changeDns({ enabled: true, resolver: { ...DEFAULT_RESOLVER, cacheSize: 7n } });
  const api = apiOf(standIn);
  const { data } = await api('GET', '/dns/config');
  const changed = { ...(data as object), doh_upstream: 'https://new.example/q' };
  expect(await api('POST', '/dns/config', changed)).toMatchObject({ ok: true });
  const [, ...others] = DEFAULT_RESOLVER.upstreams;
  expect((await backend.live?.dns())?.resolver).toMatchObject({
    upstreams: ['https://new.example/q', ...others],
    cacheSize: 7n,
  });
});
