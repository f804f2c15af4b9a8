import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../clone.js';
import { folderForTest } from '../folder-for-test.js';
import { serveHere } from '../serve/serve-here.js';
import { tokenOf } from './stage.js';

/** `keyway serve` over the sample, until it listens. */
async function serving(argv: readonly string[]) {
  const folder = await folderForTest();
  await copyFile(join(ROOT, 'fixtures/samples/server.jsonc'), join(folder, 'server.jsonc'));
  const common = ['serve', '--config', 'server.jsonc', '--no-resolver', '--bind', '127.0.0.1:0'];
  const served = await serveHere([...common, ...argv], { folder });
  const url = await served.url;
  const log = await served.log();
  return { url, alone: String(log.find((line) => 'subscriptions' in line)?.subscriptions), log };
}

const PATH = `/sub/${tokenOf('guest-2026')}`;
const WARNING = 'the web path of a mount is where subscriptions would be';

it('--subscription-bind answers subscriptions by their tokens, and the address of the API with --subscriptions alone', async () => {
  const { url, alone } = await serving(['--subscription-bind', '127.0.0.1:0']);
  const answer = await fetch(alone + PATH);
  expect(await answer.text()).toBe(
    'ostp://guest-2026@203.0.113.7:50000?type=udp&owndns=true&name=OSTP%20%C2%B7%20Guests%20%C2%B7%20UDP\n',
  );
  expect((await fetch(url + PATH)).status).toBe(404);
  const { url: both, log } = await serving(['--subscriptions', '--server-host', 'vpn.example.com']);
  expect(await (await fetch(both + PATH)).text()).toContain('@vpn.example.com:50000?');
  expect(log.filter(({ msg }) => String(msg).startsWith(WARNING))).toEqual([]);
});

it('--no-subscriptions answers none of them anywhere', async () => {
  const { url, alone } = await serving(['--subscription-bind', '127.0.0.1:0', '--no-subscriptions']);
  for (const place of [url, alone]) expect(await (await fetch(place + PATH)).text()).toContain('not found');
});

it('warns where a panel has the path of subscriptions', async () => {
  const { log } = await serving(['--subscriptions', '--webpath', 'sub']);
  expect(log.filter(({ msg }) => String(msg).startsWith(WARNING))).toHaveLength(1);
});
