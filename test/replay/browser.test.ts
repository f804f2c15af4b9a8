import { expect, onTestFinished, test } from 'vitest';
import { startProxy } from '../../src/replay/proxy.js';
import { createRecorder } from '../../src/replay/recorder.js';
import type { ScenarioFile } from '../../src/replay/scenario-files.js';
import { playEmbedded } from '../../src/replay-embedded.js';
import { openBrowser } from '../panel/stage.js';
import { PASSWORD, playerOn, startLiveServer, USERNAME } from './live-server.js';

/** A panel as released builds are: everything by fetch, a JSON content type on every call, the whole configuration sent back. */
const PAGE = `<!doctype html><title>panel</title><link rel="icon" href="data:,">
<form><input name="username"><input name="password" type="password"><button>Sign in</button></form><pre></pre>
<script src="./assets/app.js"></script>`;

const SCRIPT = `
let token = '';
const call = async (method, path, body) => {
  const headers = { 'content-type': 'application/json', ...(token === '' ? {} : { authorization: 'Bearer ' + token }) };
  const answer = await fetch('api' + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  return (await answer.json()).data;
};
document.querySelector('form').addEventListener('submit', async (event) => {
  event.preventDefault();
  const { username, password } = Object.fromEntries(new FormData(event.target));
  const session = await call('POST', '/login', { username, password });
  if (session === undefined) { document.querySelector('pre').textContent = 'refused'; return; }
  token = session.token;
  await Promise.all([call('GET', '/server/status'), call('GET', '/users')]);
  const key = await call('POST', '/users', { name: 'Made in the browser', limit_bytes: 5368709120 });
  await call('GET', '/users');
  await call('PUT', '/users/' + key, { name: 'Renamed', limit_bytes: null });
  await fetch('api/subscribe/' + key, { headers: { accept: 'text/plain' } });
  await call('POST', '/users/' + key + '/reset');
  await call('DELETE', '/users/' + key);
  const config = await call('GET', '/server/config');
  await call('PUT', '/server/config', config);
  await call('PUT', '/router/rules', await call('GET', '/router/rules'));
  await call('GET', '/users');
  document.querySelector('pre').textContent = 'done';
});
call('GET', '/server/status');
`;

test("a panel's session recorded in a real browser replays green, on the server and on an embedded core", async () => {
  const server = await startLiveServer('current', { 'index.html': PAGE, 'assets/app.js': SCRIPT });
  const recorder = createRecorder({
    apiRoot: '/panel/api',
    base: '/panel',
    revision: 'current',
    date: '2026-11-21',
    keepValues: false,
  });
  const proxy = await startProxy({
    origin: server.origin,
    listen: { host: '127.0.0.1', port: 0 },
    onExchange: (exchange) => recorder.add(exchange),
    onFailure: (reason) => expect.unreachable(reason),
  });
  onTestFinished(proxy.close);
  const browser = await openBrowser();
  onTestFinished(() => browser.close());
  const page = await browser.newPage();
  await page.goto(`${proxy.url}/panel/`);
  const signIn = async (password: string, until: string) => {
    await page.fill('input[name=username]', USERNAME);
    await page.fill('input[name=password]', password);
    await page.click('button');
    await page.getByText(until, { exact: true }).waitFor();
  };
  await signIn('guessed', 'refused');
  await signIn(PASSWORD, 'done');
  await browser.close();

  expect(recorder.sessions).toHaveLength(1);
  const [session = 0] = recorder.sessions;
  const scenario = recorder.scenario(session);
  expect(scenario.exchanges.length).toBeGreaterThan(16);
  const file: ScenarioFile = { kind: 'scenario', name: 'panel', path: 'panel.json', scenario, register: null };
  const player = await playerOn(server.origin, 'current', { permissions: { writes: true, destructive: true } });
  expect(await player.play(file, {})).toMatchObject({ outcome: 'equal', differences: [] });
  expect(await player.finish()).toEqual([]);
  const options = { revision: null, timeoutMilliseconds: 10_000, isStopped: () => false };
  const embedded = await playEmbedded({ ...file, scenario: withoutAssets(file) }, options);
  expect(embedded).toMatchObject({ outcome: 'equal', differences: [] });
});

/** An embedded core has no files of another panel build. */
function withoutAssets({ scenario }: ScenarioFile): ScenarioFile['scenario'] {
  const isAsset = (path: string) => path.startsWith('/assets/');
  const exchanges = scenario.exchanges.filter((each) => !('request' in each) || !isAsset(each.request.path));
  return { ...scenario, exchanges };
}
