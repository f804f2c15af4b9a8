import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { buildIfOlder } from '../build.js';
import { folderForTest } from '../folder-for-test.js';
import { isInstalled } from '../installed.js';
import { runHere } from './context.js';
import { CTRL_C, KEYWAY, startOnTerminal } from './terminal.js';

beforeAll(buildIfOlder);

const hasScript = isInstalled('script', 'the question of a first start on a terminal');

describe.skipIf(!hasScript)('a first start on a terminal', () => {
  async function firstStart(flags = '') {
    const folder = await folderForTest();
    const start = () => {
      const terminal = startOnTerminal(`exec ${KEYWAY} start --bind 127.0.0.1:0 ${flags}`, folder);
      onTestFinished(terminal.kill);
      const shows = (text: string | RegExp) => expect.poll(() => terminal.shown().replaceAll('\r', '')).toMatch(text);
      return { ...terminal, shows };
    };
    return { folder, start };
  }

  it('serves before it asks, shows each answer once, keeps the address and asks no second time', async () => {
    const { folder, start } = await firstStart();
    const first = start();
    await first.shows(/^Address \(Enter leaves it open\): $/m);
    const [, panel = ''] = /^Panel: (\S+)/m.exec(first.shown()) ?? [];
    expect((await fetch(panel)).status).toBe(200);
    first.type('not a name\r');
    await first.shows(/^Expected a host name.*\nAddress \(Enter leaves it open\): $/m);
    first.type('vpn.example.org\r');
    await first.shows(/^Wrote vpn\.example\.org into .*\.ostp_public_ip: share links name it from now on$/m);
    const typed = [...first.shown().matchAll(/^Address \(Enter leaves it open\): (.*?)\r*$/gm)].map(([, text]) => text);
    expect(typed).toEqual(['not a name', 'vpn.example.org']);
    expect(await readFile(join(folder, '.ostp_public_ip'), 'utf8')).toBe('vpn.example.org\n');
    first.type(CTRL_C);
    expect(await first.ended).toBe(0);
    const second = start();
    await second.shows(/^Panel: /m);
    expect(second.shown()).not.toMatch(/Address|clients cannot reach/);
    const { output } = await runHere(['keys', 'link', 'First key'], { folder });
    expect(output).toContain('@vpn.example.org:50000');
    second.type(CTRL_C);
    expect(await second.ended).toBe(0);
  }, 60_000);

  it('ends by Ctrl-C at the question', async () => {
    const { start } = await firstStart();
    const first = start();
    await first.shows(/^Address .*: $/m);
    first.type(CTRL_C);
    expect(await first.ended).toBe(0);
    expect(first.shown()).toContain('stopped');
  });

  it('asks nothing with --yes', async () => {
    const { start } = await firstStart('--yes');
    const first = start();
    await first.shows(/give theirs with keyway serve .*--server-host ADDRESS/);
    expect(first.shown()).not.toContain('Address (');
    first.type(CTRL_C);
    expect(await first.ended).toBe(0);
  });
});
