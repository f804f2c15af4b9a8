import { createHash } from 'node:crypto';
import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { GatewayOptions } from '../../src/index.js';
import { describeDatabase, freshDatabase } from '../homes/database/database.js';
import { CREDENTIALS, fileOf } from '../stand-in/files.js';
import { LOSES_NOTHING, standInOf } from '../stand-in/test-stand-in.js';
import { expectAccessible } from './axe.js';
import { withPanel } from './in-browser.js';
import { goTo, INBOUNDS_FILE, listenForPages, openPage, picture, SERVER_FILE, signIn, TOKEN } from './stage.js';

const COMMENTED = SERVER_FILE.replace('"listen":', '// the address that everybody has\n  "listen":');
const COMMENTED_INBOUNDS = INBOUNDS_FILE.replace('"log":', '// quiet\n  "log":');

const review = (page: Page) => page.getByRole('button', { name: 'Review changes' }).click();
const save = (page: Page) => page.getByRole('button', { name: 'Save to server' }).click();

/** The calls that change the configuration, from now on. */
function changesOf(page: Page): string[] {
  const changes: string[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (request.method() !== 'GET' && /config/.test(pathname))
      changes.push(`${request.method()} ${pathname.replace(/^.*\/(?=server|keyway)/, '')}`);
  });
  return changes;
}

describe.each([
  ['accessKeys', COMMENTED, '// the address that everybody has', '"log_level": "debug"'],
  ['inbounds', COMMENTED_INBOUNDS, '// quiet', '"level": "debug"'],
] as const)('an edit of a file of the layout %s', (_, file, comment, changed) => {
  it('keeps comments, keys that a bot makes meanwhile, and what others change elsewhere in the file', async () => {
    await withPanel(
      'current',
      async (page, stage) => {
        const changes = changesOf(page);
        await goTo(page, 'Configuration');
        await page.getByLabel('Log level').selectOption('debug');
        await stage.call('POST', '/users', { access_key: 'before-the-review' });
        await review(page);
        await page.getByText('only your changes are added').waitFor();
        await expectAccessible(page);
        await stage.call('POST', '/users', { access_key: 'in-the-review' });
        await stage.writeFile((await stage.fileText()).replace('"port": 9050', '"port": 9150'));
        await save(page);
        await page.getByText('Configuration saved.').waitFor();
        const text = await stage.fileText();
        for (const part of [comment, changed, 'before-the-review', 'in-the-review', '"port": 9150', "Anna's laptop"])
          expect(text).toContain(part);
        expect(changes[0]).toBe('PATCH keyway/v1/configuration');
        expect(new Set(changes).size).toBe(1);
      },
      { stage: { file } },
    );
  });
});

describe('a field that was changed on the server, too', () => {
  const edit = async (page: Page) => {
    await goTo(page, 'Configuration');
    await page.getByLabel('Web path').fill('mine');
    await page.getByLabel('Proxy port').fill('1080');
  };
  const sides = (page: Page) => page.getByRole('group', { name: 'api.webpath' });

  it.each([
    ['Yours', 'mine'],
    ['The server’s', 'theirs'],
  ] as const)('is asked about with both values, and %s can stay', async (side, kept) => {
    await withPanel(
      'current',
      async (page, stage) => {
        await edit(page);
        await stage.writeFile(COMMENTED.replace('office/panel', 'theirs'));
        await review(page);
        await expect.poll(() => sides(page).getByRole('radio').count()).toBe(2);
        await sides(page).getByText('mine', { exact: true }).waitFor();
        await sides(page).getByText('theirs', { exact: true }).waitFor();
        expect(await page.getByRole('button', { name: 'Save to server' }).isDisabled()).toBe(true);
        await expectAccessible(page);
        await picture(page, 'current-conflict');
        await page.getByRole('radio', { name: side }).check();
        await save(page);
        await page.getByText('Configuration saved.').waitFor();
        const text = await stage.fileText();
        expect(text).toContain(`"webpath": "${kept}"`);
        expect(text).toContain('"port": 1080');
        expect(text).toContain('// the address that everybody has');
        expect(await page.getByLabel('Web path').inputValue()).toBe(kept);
      },
      { stage: { file: COMMENTED } },
    );
  });

  it('is asked about also where that happens behind the review, and again where it gets a third value', async () => {
    await withPanel(
      'current',
      async (page, stage) => {
        await edit(page);
        await review(page);
        await page.getByText('2 added, 2 removed').waitFor();
        await stage.writeFile(COMMENTED.replace('office/panel', 'theirs'));
        await save(page);
        await page.getByRole('radio', { name: 'Yours' }).check();
        await stage.writeFile(COMMENTED.replace('office/panel', 'a-third'));
        await save(page);
        await sides(page).getByText('a-third', { exact: true }).waitFor();
        expect(await page.getByRole('radio', { checked: true }).count()).toBe(0);
        expect(await stage.fileText()).toContain('a-third');
        await page.getByRole('radio', { name: 'Yours' }).check();
        await save(page);
        await page.getByText('Configuration saved.').waitFor();
        expect(await stage.fileText()).toContain('"webpath": "mine"');
      },
      { stage: { file: COMMENTED } },
    );
  });
});

it("one's own password is set beside a bot that makes keys, with comments kept, and the page stays signed in", async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      const changes = changesOf(page);
      await goTo(page, 'Configuration');
      await page.getByLabel('New password', { exact: true }).fill('another');
      await page.getByLabel('Repeat the password').fill('another');
      await stage.call('POST', '/users', { access_key: 'by-the-bot' });
      await review(page);
      await save(page);
      await page.getByText('You are signed in with the new details.').waitFor();
      const text = await stage.fileText();
      const hash = createHash('sha256').update('another').digest('hex');
      for (const part of [hash, 'by-the-bot', '// the address that everybody has']) expect(text).toContain(part);
      expect(changes).toEqual(['PATCH keyway/v1/configuration']);
      await goTo(page, 'Keys');
      await page.getByText('by-the-bot').first().waitFor();
    },
    { stage: { file: COMMENTED } },
  );
});

describe('settings that have operations', () => {
  it('rules that a bot adds stay beside those that are edited', async () => {
    await withPanel('current', async (page, stage) => {
      await goTo(page, 'Rules');
      await page.getByRole('button', { name: 'Remove rule 1' }).click();
      const rules: unknown = await stage.call('GET', '/router/rules');
      const added = { domain_suffix: ['.bot.example'], ip_cidr: [], action: 'block' };
      await stage.call('PUT', '/router/rules', [...(Array.isArray(rules) ? rules : []), added]);
      await page.getByRole('button', { name: 'Save rules' }).click();
      await page.getByText('Rules saved.').waitFor();
      expect(await stage.call('GET', '/router/rules')).toMatchObject([{ action: 'block' }, { protocol: 'tcp' }, added]);
      await page.getByText('.bot.example').waitFor();
    });
  });

  it('rules that a bot adds while they are being saved stay, too', async () => {
    await withPanel('current', async (page, stage) => {
      const added = { domain_suffix: ['.bot.example'], ip_cidr: [], action: 'block' };
      let isLate = true;
      await page.route(`${stage.api}/router/rules`, async (route) => {
        if (route.request().method() === 'PUT' && isLate) {
          isLate = false;
          const rules: unknown = await stage.call('GET', '/router/rules');
          await stage.call('PUT', '/router/rules', [...(Array.isArray(rules) ? rules : []), added]);
        }
        await route.continue();
      });
      await goTo(page, 'Rules');
      await page.getByRole('button', { name: 'Remove rule 1' }).click();
      await page.getByRole('button', { name: 'Save rules' }).click();
      await page.getByText('Rules saved.').waitFor();
      expect(await stage.call('GET', '/router/rules')).toMatchObject([{ action: 'block' }, { protocol: 'tcp' }, added]);
    });
  });

  it('a DNS setting that a bot changes while it is being saved is asked about', async () => {
    await withPanel('0.2.51', async (page, stage) => {
      let isLate = true;
      await page.route(`${stage.api}/dns/config`, async (route) => {
        if (route.request().method() === 'POST' && isLate) {
          isLate = false;
          const now = await stage.call('GET', '/dns/config');
          await stage.call('POST', '/dns/config', { ...Object(now), doh_upstream: 'https://theirs.example/q' });
        }
        await route.continue();
      });
      await goTo(page, 'DNS');
      await page.getByLabel('Upstream').fill('https://mine.example/q');
      await page.getByRole('button', { name: 'Save settings' }).click();
      await page.getByRole('group', { name: 'dns.doh_upstream' }).getByText('https://theirs.example').waitFor();
      expect(await stage.call('GET', '/dns/config')).toMatchObject({ doh_upstream: 'https://theirs.example/q' });
    });
  });

  it('DNS settings that others change stay, and one that both change is asked about', async () => {
    await withPanel('0.2.51', async (page, stage) => {
      const change = async (members: object) => {
        const now = await stage.call('GET', '/dns/config');
        await stage.call('POST', '/dns/config', { ...Object(now), ...members });
      };
      const bodies: string[] = [];
      page.on('request', (request) => {
        if (request.method() === 'POST' && /dns\/config$/.test(request.url())) bodies.push(request.postData() ?? '');
      });
      await goTo(page, 'DNS');
      const upstream = page.getByLabel('Upstream');
      await upstream.fill('https://mine.example/dns-query');
      await change({ custom_domains: { 'bot.example': '192.0.2.9' } });
      await page.getByRole('button', { name: 'Save settings' }).click();
      await page.getByText('DNS settings saved.').waitFor();
      expect(await stage.call('GET', '/dns/config')).toMatchObject({
        doh_upstream: 'https://mine.example/dns-query',
        custom_domains: { 'bot.example': '192.0.2.9' },
      });
      expect(bodies).toEqual(['{"doh_upstream":"https://mine.example/dns-query","enabled":true}']);
      await upstream.fill('https://again.example/dns-query');
      await change({ doh_upstream: 'https://theirs.example/dns-query' });
      await page.getByRole('button', { name: 'Save settings' }).click();
      await page.getByRole('group', { name: 'dns.doh_upstream' }).getByText('https://theirs.example').waitFor();
      expect(await page.getByRole('button', { name: 'Save settings' }).isDisabled()).toBe(true);
      await page.getByRole('radio', { name: 'The server’s' }).check();
      await page.getByRole('button', { name: 'Save settings' }).click();
      await expect.poll(() => upstream.inputValue()).toBe('https://theirs.example/dns-query');
      expect(await stage.call('GET', '/dns/config')).toMatchObject({
        doh_upstream: 'https://theirs.example/dns-query',
      });
    });
  });
});

it('behind a proxy that makes entity tags weak, names its coding in them, or takes them away, the configuration is saved', async () => {
  await withPanel('current', async (page, stage) => {
    const changes = changesOf(page);
    let tag = (told: string) => told;
    await page.route('**/keyway/v1/configuration', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, headers: { ...response.headers(), etag: tag(response.headers().etag ?? '') } });
    });
    const ways = [
      ['debug', (told: string) => `W/${told}`],
      ['error', (told: string) => told.replace(/"$/, '-gzip"')],
      ['trace', () => ''],
    ] as const;
    for (const [level, way] of ways) {
      tag = way;
      await page.reload();
      await goTo(page, 'Configuration');
      await page.getByLabel('Log level').selectOption(level);
      await review(page);
      await save(page);
      await page.getByText('Configuration saved.').waitFor();
      expect(await stage.fileText()).toContain(`"log_level": "${level}"`);
    }
    expect(changes).toEqual(['PATCH keyway/v1/configuration', 'PATCH keyway/v1/configuration', 'PUT server/config']);
  });
});

it('without the interface the whole file is saved, and what others did meanwhile is shown before', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      const changes = changesOf(page);
      await goTo(page, 'Configuration');
      await page.getByLabel('Log level').selectOption('debug');
      await stage.call('POST', '/users', { access_key: 'meanwhile' });
      await review(page);
      await page.getByText('Saving removes 1 key').waitFor();
      await page.getByText('Saving replaces the whole file: comments in it are lost.').waitFor();
      await save(page);
      await page.getByText('Configuration saved.').waitFor();
      expect(changes).toEqual(['PUT server/config']);
      expect(await stage.fileText()).not.toContain('meanwhile');
    },
    { stage: { ownApi: false } },
  );
});

interface Home {
  /** The gateway's options besides its mount. */
  readonly options: () => Promise<Partial<GatewayOptions>>;
  readonly token: string;
  readonly password: string;
}

/** Edits beside a bot over a home, by the page and by its API. */
async function savesBesideABot({ options, token, password }: Home): Promise<void> {
  const { createGateway } = await import('../../src/index.js');
  const app = await createGateway({ mounts: [{ revision: 'current' }], loginGuard: 'off', ...(await options()) });
  onTestFinished(() => app.close());
  const origin = await listenForPages(app);
  const base = `${origin}${app.keyway.mounts[0]?.base}`;
  const call = async (method: string, path: string, body?: string) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await fetch(`${base}/api${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
    return answer.text();
  };
  const file: { data: { access_keys: object[] } } = JSON.parse(await call('GET', '/server/config'));
  if (file.data.access_keys.length === 0) await call('PUT', '/server/config', SERVER_FILE);
  const { page, expectClean, close } = await openPage(`${base}/`);
  await signIn(page, password);
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  const changes = changesOf(page);
  await goTo(page, 'Configuration');
  await page.getByLabel('Log level').selectOption('trace');
  await call('POST', '/users', '{"access_key":"by-the-bot"}');
  await review(page);
  await save(page);
  await page.getByText('Configuration saved.').waitFor();
  const text = await call('GET', '/server/config');
  expect(text).toContain('"log_level":"trace"');
  expect(text).toContain('by-the-bot');
  expect(changes).toEqual(['PATCH keyway/v1/configuration']);
  expectClean();
  await close();
}

describeDatabase('over a database', () => {
  it('an edit beside a bot loses nothing', () =>
    savesBesideABot({
      token: TOKEN,
      password: 'password',
      options: async () => ({
        database: { url: await freshDatabase() },
        listener: { token: TOKEN, username: 'admin', passwordHash: hashOf('password') },
      }),
    }));
});

it('an edit beside a bot loses nothing in front of a server', () =>
  savesBesideABot({
    ...CREDENTIALS,
    options: async () => {
      const standIn = await standInOf('0.2.96', { ...LOSES_NOTHING, reloadFactor: 0 }, fileOf('0.2.96'));
      return { upstream: { url: `${standIn.origin}/panel`, token: CREDENTIALS.token } };
    },
  }));

const hashOf = (password: string) => createHash('sha256').update(password).digest('hex');
