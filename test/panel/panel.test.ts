import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildPanelIfOlder, PANEL, ROOT } from './built-panel.js';
import { goTo, openBrowser, openPage, picture, SERVER_FILE, type Stage, signIn, startStage, TOKEN } from './stage.js';

let browser: Browser;

beforeAll(async () => {
  await buildPanelIfOlder();
  browser = await openBrowser();
});
afterAll(() => browser.close());

/** Runs with a gateway and a page that must be clean at the end. */
async function withPanel(
  revision: string,
  test: (page: Page, stage: Stage) => Promise<void>,
  {
    signed = true,
    words,
    ...page
  }: Parameters<typeof openPage>[2] & { signed?: boolean; words?: readonly [string, string, string] } = {},
): Promise<void> {
  const stage = await startStage(revision);
  const watched = await openPage(browser, stage.panel, page);
  try {
    if (signed) {
      await signIn(watched.page, undefined, words);
      await watched.page.getByRole('heading', { level: 1, name: /Overview|Обзор/ }).waitFor();
    }
    await test(watched.page, stage);
    watched.expectClean();
  } finally {
    await watched.page.context().close();
    await stage.close();
  }
}

/** Fails with what axe found wrong (WCAG 2.2 A and AA). */
async function expectAccessible(page: Page): Promise<void> {
  const source = readFileSync(join(ROOT, 'node_modules/axe-core/axe.min.js'), 'utf8');
  await page.evaluate(`if (!window.axe) { ${source} }`);
  const found: unknown = await page.evaluate(`axe.run(document, {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 160)).join(' | ')))`);
  expect(found).toEqual([]);
}

const PAGES = ['Overview', 'Keys', 'Configuration', 'Rules', 'DNS', 'Audit'];

describe('the build', () => {
  it('has less than 80 kB of gzipped JavaScript', () => {
    const scripts = readdirSync(join(PANEL, 'assets')).filter((name) => name.endsWith('.js'));
    const sizes = scripts.map((name) => gzipSync(readFileSync(join(PANEL, 'assets', name)), { level: 9 }).length);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(80_000);
  });

  it('is served with a strict policy, hashed files for ever and the index never, compressed as built', async () => {
    const stage = await startStage('current', { panelServers: ['https://other.example:9090/secret/api'] });
    const index = await fetch(stage.panel, { headers: { 'accept-encoding': 'identity' } });
    expect(index.headers.get('cache-control')).toBe('no-cache');
    expect(index.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self' https://other.example:9090; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(index.headers.get('x-content-type-options')).toBe('nosniff');
    const script = /\.\/(assets\/[\w-]+\.js)/.exec(await index.text())?.[1] ?? '';
    const file = await fetch(stage.panel + script, { headers: { 'accept-encoding': 'gzip' } });
    expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(file.headers.get('content-encoding')).toBe('gzip');
    expect(file.headers.get('content-type')).toBe('text/javascript');
    expect(await file.text()).toBe(gunzipSync(readFileSync(join(PANEL, `${script}.gz`))).toString());
    const config: unknown = await (await fetch(`${stage.panel}panel-config.json`)).json();
    expect(config).toEqual({
      offers: ['config', 'login', 'panel', 'audit', 'bulk', 'rules'],
      open: false,
      servers: ['https://other.example:9090/secret/api'],
    });
    await stage.close();
  });
});

describe.each(['dns', 'current'])('revision %s', (revision) => {
  it('shows every page, greys what the server lacks, and axe finds nothing', async () => {
    await withPanel(revision, async (page) => {
      for (const name of PAGES) {
        await goTo(page, name);
        await page.locator('.loading').waitFor({ state: 'detached' });
        await expectAccessible(page);
        await picture(page, `${revision}-${name.toLowerCase()}`);
      }
      const missing = await page.locator('nav a.missing').allInnerTexts();
      const lacking = revision === 'dns' ? ['Rules', 'Audit'] : ['DNS'];
      expect(missing.map((text) => text.split('\n')[0])).toEqual(lacking);
      await goTo(page, lacking[0] ?? '');
      await page.getByRole('heading', { name: 'not on this server' }).waitFor();
    });
  });
});

it('a key is created, limited, reset and deleted through the page, as the API and the file say', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Name', { exact: true }).fill('<script>window.hit=1</script>');
    await page.getByLabel('Limit', { exact: true }).fill('18446744073709551615');
    await page.getByLabel('Unit').selectOption('B');
    await page.getByText('= 18,446,744,073,709,551,615 bytes').waitFor();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const drawer = page.getByRole('dialog');
    await drawer.getByRole('heading', { name: '<script>' }).waitFor();
    await drawer.getByRole('img', { name: 'QR code' }).waitFor();
    await expectAccessible(page);
    await picture(page, 'current-key');
    expect(await stage.fileText()).toMatch(/"name": ?"<script>.*"limit_bytes": ?18446744073709551615/);

    await drawer.getByRole('button', { name: 'Edit' }).click();
    const edit = page.getByRole('dialog', { name: 'Edit key' });
    expect(await edit.getByLabel('Limit', { exact: true }).inputValue()).toBe('18446744073709551615');
    for (const [typed, sentence] of [
      ['1.5 GB', 'GB can mean 1000³ or 1024³'],
      ['-1', 'below 0'],
      ['abc', 'Expected a number'],
      ['18446744073709551616', 'The largest limit'],
    ]) {
      await edit.getByLabel('Limit', { exact: true }).fill(typed ?? '');
      await edit
        .getByRole('alert')
        .filter({ hasText: sentence ?? '' })
        .waitFor();
    }
    await edit.getByLabel('Limit', { exact: true }).fill('1.5 GiB');
    await edit.getByRole('button', { name: 'Save' }).click();
    await edit.waitFor({ state: 'detached' });
    await expect.poll(() => stage.fileText()).toMatch(/"name": ?"<script>.*"limit_bytes": ?1610612736/);

    await drawer.getByRole('button', { name: 'Reset counters' }).click();
    await page.getByRole('dialog', { name: 'Reset' }).getByRole('button', { name: 'Reset counters' }).click();
    await page.getByText('Counters reset.').waitFor();
    await drawer.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog', { name: 'Delete' }).getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Nothing was deleted.').waitFor();
    expect(await stage.fileText()).toContain('<script>');

    await page.getByRole('link', { name: '<script>' }).click();
    await drawer.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog', { name: 'Delete' }).getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Key deleted.').waitFor();
    expect(await stage.fileText()).not.toContain('<script>');
    expect(await page.evaluate('window.hit')).toBeUndefined();

    const audit = JSON.stringify(await stage.call('GET', '/audit'));
    expect(audit).toContain('Deleted 1 key');
    expect(audit).toContain('Удалён 1 ключ');
    expect(audit).not.toContain('script');
  });
});

it('a keyboard alone creates and deletes a key', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByRole('button', { name: 'New key' }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.type('By keyboard');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('heading', { name: 'By keyboard' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('grid').focus();
    await page.keyboard.press('End');
    await page.locator('.row-active', { hasText: 'By keyboard' }).waitFor();
    await page.keyboard.press('Delete');
    await page.getByRole('dialog', { name: 'Delete this key?' }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByText('Key deleted.').waitFor();
    expect(await stage.fileText()).not.toContain('By keyboard');
  });
});

it('many keys are created at once, and one by one where the server has no bulk creation', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByRole('button', { name: 'Many keys' }).click();
    await page.getByLabel('How many').fill('0');
    await page.getByText('Expected a whole number').waitFor();
    await page.getByLabel('How many').fill('12');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name: '12 keys created' }).waitFor();
    const [csv] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'CSV' }).click()]);
    const lines = readFileSync(await csv.path(), 'utf8')
      .trim()
      .split('\r\n');
    expect(lines).toHaveLength(13);
    expect(lines[1]).toMatch(/^,([0-9a-f]{16}),ostp:\/\/\1@203\.0\.113\.7:50000\?type=udp/);
    await page.getByRole('button', { name: 'QR sheet' }).click();
    await expect.poll(() => page.locator('.sheet .qr').count()).toBe(12);
    expect(stage.app.keyway.core.keys.size).toBe(16);
  });
  await withPanel('dns', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByRole('button', { name: 'Many keys' }).click();
    await page.getByText('created one by one').first().waitFor();
    await page.getByLabel('How many').fill('9');
    await page.getByLabel('Name', { exact: true }).fill('Guest');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name: '9 keys created' }).waitFor();
    expect(await stage.fileText()).toContain('Guest 9');
  });
});

it('the configuration is compared before it is saved, warns of changes meanwhile, and keeps numbers as spelled', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Configuration');
    await page.getByLabel('Username').fill('operator');
    await page.getByRole('button', { name: 'Text' }).click();
    const editor = page.getByLabel('The configuration file as JSON');
    const text = await editor.inputValue();
    expect(text).toContain('"ceiling": 18446744073709551615');
    expect(text).toContain('"ratio": 0.10');
    expect(text).toContain('"username": "operator"');
    await editor.fill(text.replace('"mode"', '// no\n  "mode"'));
    await page.getByText('Line 2, column 3: the API takes no comments.').waitFor();
    await editor.fill(text.replace('"ratio": 0.10', '"ratio": 0.20'));
    await stage.call('POST', '/users', { access_key: 'meanwhile' });
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByText('The file changed on the server since you opened it.').waitFor();
    await page.getByText('Saving removes 1 key').waitFor();
    await expectAccessible(page);
    await picture(page, 'current-diff');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Discard changes' }).click();
    await expect.poll(() => editor.inputValue()).toContain('meanwhile');
    await editor.fill((await editor.inputValue()).replace('"ratio": 0.10', '"ratio": 0.20'));
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByText('1 added, 1 removed').waitFor();
    await page.getByRole('button', { name: 'Save to the server' }).click();
    await page.getByText('Configuration saved.').waitFor();
    const file = await stage.fileText();
    expect(file).toContain('0.20');
    expect(file).toContain('18446744073709551615');
    expect(file).toContain('meanwhile');
  });
});

it('rules are added, checked, moved by keyboard and saved', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Rules');
    await page.getByRole('button', { name: 'Add a rule' }).click();
    await page.getByLabel('Block').check();
    await page.getByLabel('Networks in CIDR').fill('10.0.0.0/33');
    await page.getByText('Not a network: 10.0.0.0/33').waitFor();
    await page.getByLabel('Networks in CIDR').fill('fd00::/8');
    await page.getByLabel('Domain suffixes').fill('not a name');
    await page.getByText('Not a domain suffix').waitFor();
    await page.getByLabel('Domain suffixes').fill('ads.example');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Take over' }).click();
    await page.getByRole('button', { name: 'Edit rule 4' }).focus();
    await page.keyboard.press('Alt+ArrowUp');
    await page.keyboard.press('Alt+ArrowUp');
    await page.locator('.rule').nth(1).filter({ hasText: 'ads.example' }).waitFor();
    await page.getByRole('button', { name: 'Save rules' }).click();
    await page.getByText('Rules saved.').waitFor();
    expect(await stage.call('GET', '/router/rules')).toMatchObject([
      { action: 'proxy' },
      { action: 'block', domain_suffix: ['ads.example'], ip_cidr: ['fd00::/8'], protocol: null },
      { action: 'block' },
      { protocol: 'tcp' },
    ]);
  });
});

it('DNS settings are checked and saved, and a refresh says its outcome', async () => {
  await withPanel('dns', async (page, stage) => {
    await goTo(page, 'DNS');
    await page.getByLabel('Upstream').fill('http://plain.example/');
    await page.getByText('Expected an address that begins with https://').waitFor();
    await page.getByLabel('Upstream').fill('https://dns.example/query');
    await page.getByRole('button', { name: 'Add' }).click();
    await page.getByLabel('Name', { exact: true }).last().fill('nas.office.example');
    await page.getByLabel('Address', { exact: true }).last().fill('192.0.2.300');
    await page.getByText('Expected an IPv4 or IPv6 address.').waitFor();
    await page.getByLabel('Address', { exact: true }).last().fill('192.0.2.21');
    await page.getByRole('button', { name: 'Save settings' }).click();
    await page.getByText('DNS settings saved.').waitFor();
    expect(stage.app.keyway.core.dns().dohUpstream).toBe('https://dns.example/query');
    expect([...stage.app.keyway.core.dns().customDomains.keys()]).toEqual([
      'printer.office.example',
      'nas.office.example',
    ]);
    await page.getByRole('button', { name: 'Refresh blocklists' }).click();
    await page.getByText('The server started a refresh').waitFor();
  });
});

describe('signing in', () => {
  it('says what is wrong, shares a session between tabs, and takes a static token', async () => {
    await withPanel(
      'current',
      async (page, stage) => {
        await expectAccessible(page);
        await signIn(page, 'wrong');
        await page.getByText('Wrong username or password.').waitFor();
        await page.getByRole('textbox', { name: 'Password' }).fill('password');
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
        const tab = await page.context().newPage();
        await tab.goto(`${stage.panel}#/keys`);
        await tab.getByRole('link', { name: 'Guests' }).waitFor();
        await tab.getByRole('button', { name: 'Sign out' }).click();
        await page.getByText('You signed out in another tab.').waitFor();
        await tab.getByRole('button', { name: 'Token' }).click();
        await tab.getByLabel('Static API token').fill('nonsense');
        await tab.keyboard.press('Enter');
        await tab.getByText('The server does not take this token.').waitFor();
        await tab.getByLabel('Static API token').fill(TOKEN);
        await tab.keyboard.press('Enter');
        await tab.getByRole('link', { name: 'Guests' }).waitFor();
        await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      },
      { signed: false },
    );
  });

  it('a session that somebody else ended leads back to the login, says so, and loses nothing typed', async () => {
    await withPanel('current', async (page, stage) => {
      await goTo(page, 'Keys');
      await page.getByRole('link', { name: 'Guests' }).waitFor();
      await page.getByLabel('Search by name or key').fill('Gue');
      await fetch(`${stage.api}/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ username: 'admin', password: 'password' }),
      });
      await page.getByText('Somebody else signed in.').waitFor();
      await picture(page, 'current-lost-session');
      await signIn(page);
      await page.getByRole('link', { name: 'Guests' }).waitFor();
      expect(await page.getByLabel('Search by name or key').inputValue()).toBe('Gue');
    });
  });
});

it('two mounts on one origin keep their own sessions, and each speaks to its own', async () => {
  const stage = await startStage('current', {
    mounts: [
      { revision: 'current', webpath: 'new' },
      { revision: 'dns', webpath: 'old' },
    ],
  });
  const { page, expectClean } = await openPage(browser, `${stage.origin}/new/`);
  await signIn(page);
  const second = await page.context().newPage();
  await second.goto(`${stage.origin}/old/#/keys`);
  await signIn(second);
  await second.getByRole('link', { name: 'Guests' }).waitFor();
  await goTo(page, 'Audit');
  await page.getByText('Signed in to the panel').waitFor();
  await second.reload();
  await second.getByRole('link', { name: 'Guests' }).waitFor();
  expectClean();
  await page.context().close();
  await stage.close();
});

it('speaks to an earliest server on another origin, whose host stands above the field', async () => {
  const other = await startStage('earliest');
  const stage = await startStage('current', { panelServers: [`${other.origin}/api`] });
  const { page, expectClean } = await openPage(browser, stage.panel, { allowed: [other.origin] });
  await page.getByLabel('Server').selectOption(`${other.origin}/api`);
  await page.getByText(`The token goes to ${new URL(other.origin).host}/api`).waitFor();
  await page.getByText('This server has no login with a password').waitFor();
  await page.getByLabel('Static API token').fill(TOKEN);
  await page.keyboard.press('Enter');
  await goTo(page, 'Keys');
  await page.getByText('guest-2026').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Edit' }).click();
  await page.getByText('Leave the name as it is').waitFor();
  await page.getByRole('dialog', { name: 'Edit key' }).getByLabel('Limit', { exact: true }).fill('60');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('dialog', { name: 'Edit key' }).waitFor({ state: 'detached' });
  await expect.poll(() => other.fileText()).toContain('"limit_bytes": 64424509440');
  expect(await other.fileText()).toContain('"Guests"');
  await page.keyboard.press('Escape');
  for (const name of PAGES) {
    await goTo(page, name);
    await page.locator('.loading').waitFor({ state: 'detached' });
    await expectAccessible(page);
    await picture(page, `earliest-${name.toLowerCase()}`);
  }
  expect(await page.locator('nav a.missing').count()).toBe(3);
  expectClean();
  await page.context().close();
  await stage.close();
  await other.close();
});

it('is usable on a phone, dark and in Russian', async () => {
  await withPanel(
    'current',
    async (page) => {
      for (const name of ['Обзор', 'Ключи', 'Конфигурация', 'Правила', 'Журнал']) {
        await goTo(page, name);
        await page.locator('.loading').waitFor({ state: 'detached' });
        await expectAccessible(page);
        await picture(page, `phone-${name}`);
        expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      }
      await goTo(page, 'Ключи');
      await page.getByRole('link', { name: 'Guests' }).click();
      await page.getByRole('img', { name: 'QR-код ссылки' }).waitFor();
      await expectAccessible(page);
      await picture(page, 'phone-key');
    },
    {
      viewport: { width: 390, height: 780 },
      colorScheme: 'dark',
      locale: 'ru-RU',
      words: ['Имя пользователя', 'Пароль', 'Войти'],
    },
  );
});

describe('a server that answers badly', () => {
  /** A server whose users answer is whatever `answer` gives. */
  async function badServer(
    answer: () => { readonly status: number; readonly type: string; readonly body: string } | 'cut',
  ) {
    const server = createServer((request, response) => {
      response.setHeader('access-control-allow-origin', '*');
      response.setHeader('access-control-allow-headers', 'authorization, content-type');
      if (request.method === 'OPTIONS') return response.end();
      if (request.url?.endsWith('/users') !== true) {
        response.setHeader('content-type', 'application/json');
        return response.end('{"ok":true,"data":{"version":"0","uptime_seconds":1,"active_users":0,"total_users":0}}');
      }
      const given = answer();
      if (given === 'cut') {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1000 });
        response.write('{"ok":true,"data":[');
        return response.destroy();
      }
      response.writeHead(given.status, { 'content-type': given.type });
      return response.end(given.body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    return { origin: `http://127.0.0.1:${port}`, close: () => server.close() };
  }

  it('says so in words, keeps the page working, and goes on when the server is well again', async () => {
    const json = 'application/json';
    const user = `{"access_key":"k","name":"${'n'.repeat(10_000)}","bytes_up":0,"bytes_down":18446744073709551615,"connections":0,"limit_bytes":null,"online":false,"last_seen":null}`;
    const cases = [
      { given: { status: 200, type: 'text/html', body: '<h1>hello</h1>' }, sentence: 'A web page came where' },
      { given: { status: 200, type: json, body: '' }, sentence: 'The answer cannot be understood' },
      {
        given: { status: 200, type: json, body: '{"ok":true,"data":[{"access_key":1}]}' },
        sentence: 'data[0] is not as expected',
      },
      {
        given: { status: 200, type: json, body: '{"ok":true,"data":[{"acc' },
        sentence: 'The answer cannot be understood',
      },
      { given: { status: 500, type: 'text/plain', body: 'oops' }, sentence: 'The server failed (500)' },
      { given: 'cut' as const, sentence: 'The server does not answer' },
    ];
    let now: (typeof cases)[number]['given'] = { status: 200, type: json, body: `{"ok":true,"data":[${user}]}` };
    const bad = await badServer(() => now);
    const stage = await startStage('current', { panelServers: [`${bad.origin}/api`] });
    const { page, expectClean } = await openPage(browser, stage.panel, {
      allowed: [bad.origin],
      expected: /status of 500|ERR_CONTENT_LENGTH_MISMATCH|ERR_CONNECTION|ERR_EMPTY_RESPONSE/,
    });
    await page.getByLabel('Server').selectOption(`${bad.origin}/api`);
    await goTo(page, 'Keys');
    await page.getByText('16,384').first().waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    for (const { given, sentence } of cases) {
      now = given;
      await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))');
      await page.getByText(sentence).first().waitFor();
      await page.getByText('Not reached since').waitFor();
    }
    await picture(page, 'current-away');
    now = { status: 200, type: json, body: `{"ok":true,"data":[${user}]}` };
    await page.getByRole('button', { name: 'Try now' }).click();
    await page.getByText('Not reached since').waitFor({ state: 'detached' });
    expectClean();
    await page.context().close();
    await stage.close();
    bad.close();
  });
});

it('pasting 5,000 lines into the search looks them up as keys', async () => {
  await withPanel('current', async (page) => {
    await goTo(page, 'Keys');
    await page.getByRole('link', { name: 'Guests' }).waitFor();
    await page.evaluate(`{
      const data = new DataTransfer();
      data.setData('text', Array.from({ length: 4999 }, (_, i) => 'line ' + i).join('\\n') + '\\nguest-2026');
      document.querySelector('input[type=search]').dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
    }`);
    await page.getByText('Looking for 5,000 pasted lines').waitFor();
    expect(await page.locator('.row:not(.row-head)').count()).toBe(1);
    await page.getByRole('button', { name: 'Clear the search' }).click();
    await page.getByRole('link', { name: 'Exact' }).waitFor();
  });
});

it('100,000 keys scroll without blank rows, and a refresh does not move them', async () => {
  const stage = await startStage('current', {
    file: SERVER_FILE.replace(/"access_keys": \[[\s\S]*?\n {2}\],/, '"access_keys": [],'),
    counters: [],
  });
  const names = Array.from({ length: 100_000 }, (_, index) => index);
  await stage.call('PUT', '/server/config', {
    ...JSON.parse(SERVER_FILE.replace(/18446744073709551615/g, '1')),
    access_keys: names.map((index) => ({ access_key: `key-${String(index).padStart(6, '0')}`, name: `Name ${index}` })),
  });
  await expect.poll(() => stage.app.keyway.core.keys.size, { timeout: 20_000 }).toBe(100_000);
  const { page, expectClean } = await openPage(browser, stage.panel);
  await signIn(page);
  await goTo(page, 'Keys');
  await page.getByText('100,000 keys').waitFor();
  for (const part of [0.2, 0.5, 0.99, 0.1]) {
    await page.evaluate(
      `{ const grid = document.querySelector('.grid'); grid.scrollTop = grid.scrollHeight * ${part}; }`,
    );
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    const blank = await page.evaluate(`(() => {
      const box = document.querySelector('.grid').getBoundingClientRect();
      for (let y = box.top + 40; y < box.bottom - 4; y += 20) {
        if (!document.elementFromPoint(box.left + 300, y)?.closest('.row')) return y;
      }
      return null;
    })()`);
    expect(blank).toBeNull();
  }
  const first = `[...document.querySelectorAll('.row:not(.row-head)')].find((row) => row.getBoundingClientRect().top > 155).textContent`;
  const before = await page.evaluate(first);
  stage.app.keyway.core.keys.setCounters('key-099999', { bytesUp: 5n, bytesDown: 10n ** 15n, connections: 1n });
  await page.getByText('Order of').waitFor({ timeout: 30_000 });
  expect(await page.evaluate(first)).toBe(before);
  await page.getByLabel('Search by name or key').fill('Name 99999');
  await page.getByRole('link', { name: 'Name 99999' }).waitFor();
  expectClean();
  await page.context().close();
  await stage.close();
}, 90_000);

it('--protect-audit asks for the credential of the mount, by default anyone may read', async () => {
  const open = await startStage('current');
  expect((await fetch(`${open.api}/audit`)).status).toBe(200);
  await open.close();
  const closed = await startStage('current', { protectAudit: true });
  for (const method of ['GET', 'POST', 'DELETE']) {
    expect((await fetch(`${closed.api}/audit`, { method })).status).toBe(401);
  }
  expect(await closed.call('GET', '/audit')).toEqual([]);
  await closed.close();
});
