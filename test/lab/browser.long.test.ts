import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { current } from '../../revisions/current.js';
import { playEmbedded } from '../../src/embedded/play.js';
import { readScenarioFiles, type ScenarioFile } from '../../src/lab/play/scenario-files.js';
import { startProxy } from '../../src/lab/record/proxy.js';
import { Recorder } from '../../src/lab/record/recorder.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { buildIfOlder } from '../build.js';
import { runHere } from '../commands/context.js';
import { listeningAt, startKeyway } from '../commands/process.js';
import { folderForTest } from '../folder-for-test.js';
import { goTo, holdTime } from '../panel/browser/stage.js';
import { browserOfProcess } from '../shared.js';
import { PASSWORD, startLiveServer, TOKEN, USERNAME } from './live-server.js';

beforeAll(buildIfOlder, 240_000);

/** How long the panel waits before it deletes, in milliseconds. */
const UNDO_TIME = 5_000;

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

test("a foreign panel's session recorded in a real browser replays equal on an embedded core", async () => {
  const server = await startLiveServer('current', { 'index.html': PAGE, 'assets/app.js': SCRIPT });
  const recorder = new Recorder({
    apiRoot: '/panel/api',
    base: '/panel',
    revision: 'current',
    traits: current,
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
  const page = await (await browserOfProcess()).newPage();
  onTestFinished(() => page.close());
  await page.goto(`${proxy.url}/panel/`);
  const signIn = async (password: string, until: string) => {
    await page.fill('input[name=username]', USERNAME);
    await page.fill('input[name=password]', password);
    await page.click('button');
    await page.getByText(until, { exact: true }).waitFor();
  };
  await signIn('guessed', 'refused');
  await signIn(PASSWORD, 'done');
  await page.close();

  expect(recorder.sessions).toHaveLength(1);
  const [session = 0] = recorder.sessions;
  const scenario = recorder.scenario(session);
  expect(scenario.exchanges.length).toBeGreaterThan(16);
  const file: ScenarioFile = { kind: 'scenario', name: 'panel', path: 'panel.json', scenario, register: null };
  const options = { revision: null, timeoutMilliseconds: 10_000, isStopped: () => false };
  expect(await playEmbedded(file, options)).toMatchObject({ outcome: 'equal', differences: [] });
});

/** Works in Keyway's own panel as an operator does: every page is looked at, a key is made, changed, reset and deleted. */
async function workInPanel(page: Page, url: string): Promise<void> {
  await page.clock.install();
  await page.goto(url);
  for (const password of ['guessed', PASSWORD]) {
    await page.getByLabel('Username').fill(USERNAME);
    await page.getByRole('textbox', { name: 'Password' }).fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    if (password !== PASSWORD) await page.getByRole('alert').filter({ hasText: /\S/ }).waitFor();
  }
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await goTo(page, 'Keys');
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Label', { exact: true }).fill('Made in the browser');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  const drawer = page.getByRole('dialog');
  await drawer.getByRole('heading', { name: 'Made in the browser' }).waitFor();
  await drawer.getByRole('button', { name: 'Edit' }).click();
  const edit = page.getByRole('dialog', { name: 'Edit key' });
  await edit.getByLabel('Label', { exact: true }).fill('Renamed');
  await edit.getByLabel('Limit', { exact: true }).fill('1.5 GiB');
  await edit.getByRole('button', { name: 'Save' }).click();
  await drawer.getByRole('heading', { name: 'Renamed' }).waitFor();
  await drawer.getByRole('button', { name: 'Reset counters' }).click();
  await page.getByRole('dialog', { name: 'Reset' }).getByRole('button', { name: 'Reset counters' }).click();
  await page.getByText('Counters reset.').waitFor();
  await drawer.getByRole('button', { name: 'Delete' }).click();
  const sure = page.getByRole('dialog', { name: 'Delete' }).getByRole('button', { name: 'Delete' });
  await sure.waitFor();
  await holdTime(page);
  await sure.click();
  await page.getByText('Deleting Renamed').waitFor();
  await page.clock.fastForward(UNDO_TIME);
  await page.getByText('Key deleted.').waitFor();
  await page.clock.resume();
  for (const name of ['Configuration', 'Rules', 'Audit', 'Overview']) {
    await goTo(page, name);
    await page.locator('.loading').waitFor({ state: 'detached' });
  }
}

/** Runs `keyway record` before a server while `work` is done, and returns the folder with what it wrote. */
async function recorded(origin: string, work: (url: string) => Promise<void>): Promise<string> {
  const folder = await folderForTest();
  const argv = ['record', '--target', origin, '--revision', 'current', '--out', 'recording'];
  const running = startKeyway(argv, { folder });
  await work(await listeningAt(running));
  running.child.kill('SIGINT');
  expect(await running.ended).toMatchObject({ code: 0, complaints: '' });
  return join(folder, 'recording');
}

test("a session in Keyway's own panel, recorded by the command, replays equal without a server", async () => {
  // As in front of a server of another make: with Keyway's own interface the page works by calls that no revision has.
  const server = await startLiveServer('current', {}, { ownApi: false });
  const page = await (await browserOfProcess()).newPage();
  onTestFinished(() => page.close());
  const folder = await recorded(server.origin, async (url) => {
    await workInPanel(page, `${url}/panel/`);
    await page.close();
  });
  const [file, ...others] = await readScenarioFiles([folder], createFileSystem());
  if (file?.kind !== 'scenario' || others.length > 0) throw new Error('expected one session');
  const asked = file.scenario.exchanges.flatMap((each) => ('operation' in each ? [each.operation] : []));
  const operations = ['panel', 'login', 'listUsers', 'createUser', 'updateUser', 'resetUser', 'deleteUser'];
  expect(asked).toEqual(expect.arrayContaining([...operations, 'getConfig', 'getRules', 'addAudit', 'listAudit']));
  const text = JSON.stringify(await readFile(file.path, 'utf8'));
  for (const secret of [USERNAME, PASSWORD, TOKEN, 'foreign-1', 'Made in the browser'])
    expect(text).not.toContain(secret);

  const embedded = await runHere(['replay', folder], { folder });
  expect(embedded).toMatchObject({ code: 0, complaints: '' });
  expect(embedded.output).toContain('1 equal, 0 different, 0 skipped');
});
