import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { OutboundRule } from '../../src/core/model.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { systemClock } from '../../src/platform/system-ports.js';
import { freePort } from '../free-ports.js';
import { folderForTest } from '../serve/serve-here.js';
import { CREDENTIALS, ROOT_LIST_FILE } from '../stand-in/files.js';
import { startStandIn } from '../stand-in/stand-in.js';
import { openFrontBackend } from './open-front.js';

const ROUTED = ROOT_LIST_FILE.replace('"mode"', '"outbound": { "rules": [] }, "mode"');
const RULE: OutboundRule = { domainSuffix: ['.a'], ipCidr: [], protocol: null, action: 'direct' };

test('rules leave the file whole although somebody writes comments into it between two changes', async () => {
  const file = join(await folderForTest(), 'server.jsonc');
  await writeFile(file, `// at first\n${ROUTED}`);
  const standIn = await startStandIn({
    line: '0.2.96',
    file,
    port: await freePort(),
    reloadFactor: 20,
    pauseMilliseconds: 3,
  });
  onTestFinished(() => standIn.close());
  const backend = await openFrontBackend({
    url: standIn.origin + standIn.paths.base,
    credentials: { token: CREDENTIALS.token, operator: null },
    clock: systemClock,
    dataFolder: null,
    fileSystem: createFileSystem(),
    log: { debug() {}, info() {}, warn() {}, error() {} },
  });
  await backend.replaceRules([RULE]);
  await writeFile(file, `// and again\n${await readFile(file, 'utf8')}`);
  await backend.replaceRules([]);
  const text = await readFile(file, 'utf8');
  expect(text).toContain('"alpha"');
  expect(JSON.parse(text)).toMatchObject({ mode: 'server', outbound: { rules: [] } });
  await standIn.restart();
  expect((await backend.live?.rules()) ?? null).toEqual([]);
  await backend.close();
});
