import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { GatewayOptions } from '../../src/index.js';
import { describeDatabase, freshDatabase } from '../homes/database/database.js';
import { fileOf } from '../stand-in/files.js';
import { LOSES_NOTHING, standInOf } from '../stand-in/test-stand-in.js';
import { expectAccessible } from './axe.js';
import { withPanel } from './in-browser.js';
import {
  gate,
  goTo,
  holdTime,
  listenForPages,
  openPage,
  refreshNow,
  SERVER_FILE,
  type Stage,
  signIn,
  startStage,
  storedSession,
  TOKEN,
} from './stage.js';

const PASSWORD_HASH = '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8';
/** Long enough for the time to undo and the work after it. */
const PATIENCE = { timeout: 45_000 };

/** A server whose keys are changed through Keyway, and how many of them are there. */
interface Home {
  readonly panel: string;
  readonly count: () => Promise<number> | number;
  readonly many: number;
}

const namesOf = (many: number) => Array.from({ length: many }, (_, index) => `desk-${index}`);
const listOf = (many: number) => namesOf(many).map((key) => JSON.stringify({ access_key: key, name: key }));

async function gatewayWith(options: Partial<GatewayOptions>) {
  const { createGateway } = await import('../../src/index.js');
  const app = await createGateway({
    mounts: [{ revision: 'current', webpath: 'panel' }],
    listener: { token: TOKEN, username: 'admin', passwordHash: PASSWORD_HASH },
    loginGuard: 'off',
    ...options,
  });
  onTestFinished(() => app.close());
  const origin = await listenForPages(app);
  return { app, panel: `${origin}/panel/` };
}

async function overFile(): Promise<Home> {
  const many = 333;
  const file = SERVER_FILE.replace(/"access_keys": \[[\s\S]*?\n {2}\],/, `"access_keys": [${listOf(many)}],`);
  const stage = await startStage('current', { file, counters: [] });
  onTestFinished(() => stage.close());
  return { panel: stage.panel, count: () => stage.app.keyway.core.keys.size, many };
}

async function overServer(): Promise<Home> {
  const many = 60;
  const text = fileOf('0.2.96').replace(/"access_keys": \[[\s\S]*?\],/, `"access_keys": [${listOf(many)}],`);
  const standIn = await standInOf('0.2.96', { reloadFactor: 0, ...LOSES_NOTHING }, text);
  const { panel } = await gatewayWith({ upstream: { url: `${standIn.origin}/panel`, token: TOKEN } });
  return { panel, count: () => standIn.keys().length, many };
}

async function overDatabase(): Promise<Home> {
  const many = 60;
  const { app, panel } = await gatewayWith({ database: { url: await freshDatabase() } });
  for (const name of namesOf(many)) await app.keyway.core.createUser({ accessKey: name, name, limitBytes: null });
  return { panel, count: () => app.keyway.core.keys.size, many };
}

const bar = (page: Page) => page.getByRole('region', { name: 'Jobs' });

/** Asks for the deletion of every key, and sees it wait for its time to undo. */
async function deleteAll(page: Page, many: number): Promise<void> {
  await goTo(page, 'Keys');
  await page.getByLabel('Select all shown').check();
  await page.getByText(`${many} selected`).waitFor();
  await page.getByRole('toolbar').getByRole('button', { name: 'Delete' }).click();
  const dialog = page.getByRole('dialog', { name: `Delete ${many} keys?` });
  await dialog.getByLabel(`Type ${many} to confirm.`).fill(String(many));
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await bar(page).getByText(`Deleting ${many} keys in 5 s.`).waitFor();
}

/** Undoes a deletion of all keys, and has it happen at the second time. */
async function deletesOver(make: () => Promise<Home>, audit: (page: Page) => Promise<void>): Promise<void> {
  const { panel, count, many } = await make();
  const { page, expectClean, close } = await openPage(panel);
  await signIn(page);
  let isUndone = false;
  // Longer than a slow machine takes to undo it.
  await page.route('**/keys/batch?delay=5', (route) =>
    route.continue(isUndone ? {} : { url: `${route.request().url()}5` }),
  );
  await deleteAll(page, many);
  await page.reload();
  await goTo(page, 'Overview');
  await audit(page);
  await bar(page).getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Nothing was deleted.').waitFor();
  await bar(page).waitFor({ state: 'detached' });
  const job = await page.evaluate(`fetch('keyway/v1/jobs', { headers: { authorization: 'Bearer ${TOKEN}' } })
    .then((answer) => answer.json())`);
  expect(job).toMatchObject({ data: [{ state: 'stopped', total: many, done: 0 }] });
  expect(await count()).toBe(many);

  isUndone = true;
  await deleteAll(page, many);
  await page.reload();
  await bar(page)
    .getByText(/Deleting/)
    .waitFor();
  expectClean();
  await close();
  expect(await count()).toBe(many);
  await expect.poll(count, PATIENCE).toBe(0);
}

const DELETION =
  'is undone within its time, after a reload, too, and asked for again happens although its page is reloaded and then closed';

describe('a deletion of all keys', () => {
  it(`over a configuration file ${DELETION}`, () => deletesOver(overFile, expectAccessible));
  it(`over a running server ${DELETION}`, () => deletesOver(overServer, async () => {}));
  describeDatabase('over a database', () => {
    it(DELETION, () => deletesOver(overDatabase, async () => {}));
  });
});

/** Has the server refuse what a batch says of one key, until it is let be. */
async function refuse(page: Page, stage: Stage, key: string) {
  const sent: string[] = [];
  let isOver = false;
  const pattern = (url: URL) => url.href.startsWith(stage.panel) && url.pathname.endsWith('/keys/batch');
  await page.route(pattern, async (route) => {
    if (isOver) return route.continue();
    const body = route.request().postData() ?? '';
    sent.push(body);
    await route.continue({ postData: body.replace(`"${key}"`, '"nobody"') });
  });
  // A route that is taken away may leave a request that passes just then without an answer.
  const end = () => {
    isOver = true;
  };
  return { sent, end };
}

it('what failed of a batch stays selected, and is tried again alone; a good batch keeps the selection', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    for (const name of ['Guests', 'Anna', 'Exact']) await page.getByLabel(`Select ${name}`).check();
    const refused = await refuse(page, stage, 'guest-2026');
    await page.getByRole('toolbar').getByRole('button', { name: 'Limit' }).click();
    await page.getByRole('dialog').getByLabel('Limit', { exact: true }).fill('7');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByText('Limit of 2 keys set.').waitFor();
    await bar(page).getByText('Could not set the limit of 1 key: Guests. The server refused: user not found').waitFor();
    await page.getByText('1 selected').waitFor();
    expect(await page.getByLabel('Select Guests').isChecked()).toBe(true);
    await expectAccessible(page);
    refused.end();
    const again = page.waitForRequest((request) => request.url().includes('/keys/batch'));
    await bar(page).getByRole('button', { name: 'Try again' }).click();
    const { items } = (await again).postDataJSON();
    expect(items).toEqual([{ op: 'update', access_key: 'guest-2026', limit_bytes: 7_516_192_768 }]);
    expect((await again).headers()['idempotency-key']).toMatch(/^[\w-]{8,}$/);
    await page.getByText('Limit set.').waitFor();
    await bar(page).waitFor({ state: 'detached' });
    await page.getByText('1 selected').waitFor();
    expect(await stage.call('GET', '/users/guest-2026')).toMatchObject({ limit_bytes: 7_516_192_768 });
    expect(refused.sent).toHaveLength(1);
  });
});

it('a deletion of which something failed keeps that selected', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    for (const name of ['Guests', 'Exact']) await page.getByLabel(`Select ${name}`).check();
    const refused = await refuse(page, stage, 'exact-limit');
    await page.getByRole('toolbar').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Key deleted.').waitFor();
    await bar(page).getByText('Could not delete 1 key: Exact.').waitFor();
    await page.getByText('1 selected').waitFor();
    refused.end();
    await bar(page).getByRole('button', { name: 'Try again' }).click();
    await expect.poll(() => stage.fileText(), PATIENCE).not.toContain('exact-limit');
  });
});

it('a reset is undone within its time, from the window of its key, too', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByRole('link', { name: 'Guests' }).click();
    const drawer = page.getByRole('dialog', { name: 'Guests' });
    const reset = async () => {
      await drawer.getByRole('button', { name: 'Reset counters' }).click();
      const dialog = page.getByRole('dialog', { name: 'Reset the counters?' });
      await dialog.getByText('You have 5 seconds to undo.').waitFor();
      await dialog.getByRole('button', { name: 'Reset counters' }).click();
      await drawer.getByText('Resetting the counters of Guests in 5 s.').waitFor();
    };
    await reset();
    await drawer.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Nothing was reset.').waitFor();
    expect(await stage.call('GET', '/users/guest-2026')).toMatchObject({ bytes_up: 4_000_000_000 });
    await reset();
    await page.getByText('Counters reset.').waitFor();
    expect(await stage.call('GET', '/users/guest-2026')).toMatchObject({ bytes_up: 0 });
  });
});

it('a creation whose window is closed goes on, and hands its keys out from the bar', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByRole('button', { name: 'Create several' }).click();
    await page.getByLabel('How many').fill('2500');
    const told = gate();
    await page.route('**/keyway/v1/jobs/**', async (route) => {
      await told.opened;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('dialog', { name: 'Creating 2,500 keys' }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await goTo(page, 'Overview');
    await bar(page).getByRole('progressbar').waitFor();
    told.open();
    await bar(page).getByText('2,500 keys created').waitFor();
    await bar(page).getByRole('button', { name: 'Show' }).click();
    const made = page.getByRole('dialog', { name: '2,500 keys created' });
    await made.getByRole('button', { name: 'CSV' }).waitFor();
    await page.keyboard.press('Escape');
    await bar(page).waitFor({ state: 'detached' });
    expect(stage.app.keyway.core.keys.size).toBe(2504);
  });
});

it('a batch that somebody else began is shown, and can be stopped', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      await stage.call('POST', '/../keyway/v1/keys/batch?delay=60', {
        items: [{ op: 'delete', access_key: 'guest-2026' }],
      });
      await page.reload();
      const jobs = page.getByRole('region', { name: 'Задания' });
      await jobs.getByText('Изменение 1 ключа…').waitFor();
      await expectAccessible(page);
      await jobs.getByRole('button', { name: 'Остановить' }).click();
      await page.getByText('Остановлено: 0 из 1.').waitFor();
      expect(await stage.fileText()).toContain('guest-2026');
    },
    { locale: 'ru-RU' },
  );
});

it('a batch goes on when whoever began it signs out, and is found again at the next sign-in', async () => {
  await withPanel('current', async (page, stage) => {
    await page.route('**/keys/batch?delay=5', (route) => route.continue({ url: `${route.request().url()}5` }));
    await goTo(page, 'Keys');
    await page.getByLabel('Select Guests').check();
    await page.getByRole('toolbar').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    const states = async () => JSON.stringify(await stage.call('GET', '/../keyway/v1/jobs'));
    await expect.poll(states).toContain('"waiting"');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(page);
    await bar(page).getByText('Changing 1 key').waitFor();
    // Two of its questions have been answered since.
    for (let turn = 0; turn < 2; turn += 1) await page.waitForResponse((response) => response.url().includes('/jobs/'));
    expect(await states()).toContain('"waiting"');
    await bar(page).getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopped after 0 of 1.').waitFor();
    expect(await stage.fileText()).toContain('guest-2026');
  });
});

it('a batch whose page is reloaded before the server has taken it is sent again, and done once', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByLabel('Select Guests').check();
    let isAnswered = false;
    await page.route('**/keys/batch?*', async (route) => {
      if (isAnswered) await route.continue();
      else await route.fetch();
    });
    await page.getByRole('toolbar').getByRole('button', { name: 'Limit' }).click();
    await page.getByRole('dialog').getByRole('button', { name: '+10 GiB' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await expect
      .poll(async () => (await stage.call('GET', '/../keyway/v1/jobs')) as object)
      .toMatchObject([{ done: 1 }]);
    page.on('dialog', (dialog) => void dialog.accept());
    isAnswered = true;
    await page.reload();
    await page.getByText('Limit set.').waitFor();
    expect(await stage.call('GET', '/../keyway/v1/jobs')).toHaveLength(1);
    expect(await stage.call('GET', '/users/guest-2026')).toMatchObject({ limit_bytes: 64_424_509_440 });
    expect(await bar(page).count()).toBe(0);
  });
});

it("without Keyway's interface the browser asks before a batch is left, and what it had not done is offered after", async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      await goTo(page, 'Keys');
      for (const name of ['Guests', 'Exact']) await page.getByLabel(`Select ${name}`).check();
      await page.getByRole('toolbar').getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await bar(page).getByText('Deleting 2 keys in 5 s.').waitFor();
      const asked = page.waitForEvent('dialog');
      const reloaded = page.reload();
      const dialog = await asked;
      expect(dialog.type()).toBe('beforeunload');
      await dialog.accept();
      await reloaded;
      await bar(page).getByText('The page was left before this was finished: Deleting 2 keys').waitFor();
      expect(await stage.fileText()).toContain('guest-2026');
      await expectAccessible(page);
      await bar(page).getByRole('button', { name: 'Go on' }).click();
      await page.getByText('2 keys deleted.').waitFor();
      expect(await stage.fileText()).not.toContain('guest-2026');
      await bar(page).waitFor({ state: 'detached' });
    },
    { stage: { ownApi: false } },
  );
});

it('of single calls that were under way when the page was left, those that were not made are offered', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      await goTo(page, 'Keys');
      for (const name of ['Guests', 'Exact']) await page.getByLabel(`Select ${name}`).check();
      await page.route(`${stage.api}/users/exact-limit/limit`, () => undefined);
      await page.getByRole('toolbar').getByRole('button', { name: 'Limit' }).click();
      await page.getByRole('dialog').getByLabel('Limit', { exact: true }).fill('7');
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
      await page.getByRole('progressbar', { name: '1 of 2' }).waitFor();
      page.on('dialog', (dialog) => void dialog.accept());
      await page.reload();
      await bar(page).getByText('was finished: Setting the limit of Exact').waitFor();
      await bar(page).getByRole('button', { name: 'Dismiss' }).click();
      await page.reload();
      await page.getByRole('link', { name: 'Guests' }).waitFor();
      expect(await bar(page).count()).toBe(0);
      expect(await stage.call('GET', '/users/guest-2026')).toMatchObject({ limit_bytes: 7_516_192_768 });
    },
    { stage: { ownApi: false } },
  );
});

it('what is half typed of a change, of many keys, of a table or of a rule survives Escape, and goes when it is cancelled', async () => {
  await withPanel('current', async (page) => {
    await goTo(page, 'Keys');
    const forms = [
      {
        begin: async () => {
          await page.getByRole('link', { name: 'Guests' }).click();
          await page.getByRole('dialog', { name: 'Guests' }).getByRole('button', { name: 'Edit' }).click();
        },
        field: page.getByRole('dialog', { name: 'Edit key' }).getByLabel('Name', { exact: true }),
        fresh: 'Guests',
      },
      {
        begin: () => page.getByRole('button', { name: 'Create several' }).click(),
        field: page.getByRole('dialog').getByLabel('How many'),
        fresh: '10',
      },
      {
        begin: () => page.getByRole('button', { name: 'Import' }).click(),
        field: page.getByRole('dialog').getByLabel('Or paste the lines'),
        fresh: '',
      },
      {
        begin: async () => {
          await goTo(page, 'Rules');
          await page.getByRole('button', { name: 'Add rule' }).click();
        },
        field: page.getByRole('dialog').getByLabel('Domain suffixes, one per line'),
        fresh: '',
      },
    ];
    for (const { begin, field, fresh } of forms) {
      await begin();
      await field.fill('31');
      while ((await page.getByRole('dialog').count()) > 0) await page.keyboard.press('Escape');
      await begin();
      expect(await field.inputValue()).toBe('31');
      await page.getByRole('button', { name: 'Cancel' }).click();
      while ((await page.getByRole('dialog').count()) > 0) await page.keyboard.press('Escape');
      await begin();
      expect(await field.inputValue()).toBe(fresh);
      while ((await page.getByRole('dialog').count()) > 0) await page.keyboard.press('Escape');
    }
  });
});

/** Asks for a limit of the key that is selected. */
async function limitSelected(page: Page): Promise<void> {
  await page.getByRole('toolbar').getByRole('button', { name: 'Limit' }).click();
  await page.getByRole('dialog').getByLabel('Limit', { exact: true }).fill('7');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
}

/** Limits two keys, and waits until that is done. */
async function limitTwo(page: Page): Promise<void> {
  await goTo(page, 'Keys');
  for (const name of ['Guests', 'Exact']) await page.getByLabel(`Select ${name}`).check();
  await limitSelected(page);
  await page.getByText('Limit of 2 keys set.').waitFor();
}

it('of a batch that is stopped before the server takes it nothing is done, also where it gets there later', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByLabel('Select Guests').check();
    const busy = { status: 429, json: { ok: false, error: 'too many jobs wait', code: 'too_many_jobs' } };
    let isBusy = true;
    await page.route('**/keys/batch?*', (route) => (isBusy ? route.fulfill(busy) : route.continue()));
    const refused = page.waitForResponse((response) => response.url().includes('/keys/batch'));
    await limitSelected(page);
    await refused;
    await bar(page).getByRole('button', { name: 'Stop' }).click();
    isBusy = false;
    await page.getByText('Stopped after 0 of 1.').waitFor();
    expect(await stage.call('GET', '/users/guest-2026')).toMatchObject({ limit_bytes: 53_687_091_200 });
    expect(await stage.call('GET', '/../keyway/v1/jobs')).toMatchObject([{ state: 'stopped', done: 0 }]);
  });
});

it('a batch that the server has taken and tells nothing of is not said to have failed, nor offered again', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByLabel('Select Guests').check();
    const unknown = { status: 404, json: { ok: false, error: 'there is no such job', code: 'not_found' } };
    await page.route('**/keyway/v1/jobs/**', (route) => route.fulfill(unknown));
    await limitSelected(page);
    await page.getByText('The server no longer tells what became of all of it.').waitFor();
    await bar(page).waitFor({ state: 'detached' });
    await page.getByRole('row').filter({ hasText: 'Guests' }).getByText('7 GiB').first().waitFor();
    expect(await stage.call('GET', '/users/guest-2026')).toMatchObject({ limit_bytes: 7_516_192_768 });
  });
});

it("where Keyway's interface is no more, batches and the configuration go on without it", async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    const gone = { status: 404, json: { ok: false, error: 'not found' } };
    await page.route('**/keyway/v1/**', (route) => route.fulfill(gone));
    const learnt = page.waitForResponse((response) => response.url().includes('/keyway/v1/jobs?limit=1'));
    await refreshNow(page);
    await learnt;
    await page.getByLabel('Select Guests').check();
    await limitSelected(page);
    await page.getByText('Limit set.').waitFor();
    expect(await stage.call('GET', '/users/guest-2026')).toMatchObject({ limit_bytes: 7_516_192_768 });
    await goTo(page, 'Configuration');
    await page.getByRole('button', { name: 'Review changes' }).waitFor();
  });
});

it('limits that a later batch may have changed are not offered back by the one before', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByLabel('Select Guests').check();
    const told = gate();
    await page.route('**/keyway/v1/jobs/**', async (route) => {
      await told.opened;
      await route.continue();
    });
    for (const begun of [1, 2]) {
      await limitSelected(page);
      await expect.poll(() => bar(page).getByText('Setting the limit of Guests').count()).toBe(begun);
    }
    told.open();
    await bar(page).waitFor({ state: 'detached' });
    expect(await page.getByText('Limit set.').count()).toBe(2);
    expect(await page.getByRole('button', { name: 'Undo' }).count()).toBe(1);
    expect(await stage.call('GET', '/users/guest-2026')).toMatchObject({ limit_bytes: 7_516_192_768 });
  });
});

/** Has the server take the batches that are sent from now on, held back for long, and lose its answers, until the page is reloaded. */
async function loseAnswers(page: Page) {
  let isReloaded = false;
  const taken = gate();
  await page.route('**/keys/batch?*', async (route) => {
    if (isReloaded) return route.continue();
    await route.fetch({ url: `${route.request().url()}5` });
    taken.open();
    return undefined;
  });
  page.on('dialog', (dialog) => void dialog.accept());
  const reload = async () => {
    isReloaded = true;
    await page.reload();
  };
  return { taken: taken.opened, reload };
}

async function deleteSelected(page: Page): Promise<void> {
  await page.getByRole('toolbar').getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
}

it('a deletion that is undone before its answer has come stays undone over a reload', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByLabel('Select Guests').check();
    const { taken, reload } = await loseAnswers(page);
    await deleteSelected(page);
    await taken;
    const told = gate();
    await page.route('**/keys/batch?*', async (route) => {
      await told.opened;
      await route.fallback();
    });
    await bar(page).getByRole('button', { name: 'Undo' }).click();
    await reload();
    await expect.poll(() => bar(page).getByRole('status').allInnerTexts()).toEqual(['Stopping…']);
    expect(await bar(page).getByRole('button').count()).toBe(0);
    told.open();
    await page.getByText('Nothing was deleted.').waitFor();
    expect(await stage.call('GET', '/../keyway/v1/jobs')).toMatchObject([{ state: 'stopped', done: 0 }]);
    expect(await stage.fileText()).toContain('guest-2026');
    await page.reload();
    await page.getByRole('link', { name: 'Guests' }).waitFor();
    expect(await bar(page).count()).toBe(0);
  });
});

it('a batch that is sent again after a reload is shown once, though the server tells of its job before', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByLabel('Select Guests').check();
    const { taken, reload } = await loseAnswers(page);
    await deleteSelected(page);
    await taken;
    const told = gate();
    await page.route('**/keyway/v1/jobs?limit=200', async (route) => {
      await route.fulfill({ response: await route.fetch() });
      told.open();
    });
    // Answers the batch only once the page knows of all jobs.
    await page.route('**/keys/batch?*', async (route) => {
      await told.opened;
      await route.fallback();
    });
    await reload();
    await page.waitForResponse((response) => response.url().includes('/jobs/'));
    expect(await bar(page).getByRole('status').allInnerTexts()).toEqual(['Deleting Guests in 5 s.']);
    await bar(page).getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Nothing was deleted.').waitFor();
    expect(await stage.fileText()).toContain('guest-2026');
  });
});

it.each([
  true,
  false,
])('limits are given back after a reload within their time (with the interface: %s)', async (ownApi) => {
  await withPanel(
    'current',
    async (page, stage) => {
      const limits = async () => [
        await stage.call('GET', '/users/guest-2026'),
        await stage.call('GET', '/users/exact-limit'),
      ];
      const before = await limits();
      await limitTwo(page);
      await page.reload();
      await page.getByText('Limit of 2 keys set.').waitFor();
      // Somebody else gives one of them another limit, which is not taken back.
      await stage.call('PUT', '/users/guest-2026/limit', { limit_bytes: 1 });
      await refreshNow(page);
      await page.getByRole('row').filter({ hasText: 'Guests' }).getByText('1 B').waitFor();
      await page.getByRole('button', { name: 'Undo' }).click();
      await page.getByText('The limit is as it was.').waitFor();
      expect(await limits()).toMatchObject([{ limit_bytes: 1 }, { limit_bytes: Object(before[1]).limit_bytes }]);
      await page.reload();
      await page.getByRole('link', { name: 'Guests' }).waitFor();
      expect(await page.getByRole('button', { name: 'Undo' }).count()).toBe(0);
      await limitSelected(page);
      await page.getByRole('button', { name: 'Undo' }).waitFor();
      await page.clock.fastForward(20_000);
      expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toContain('"back"');
      await page.reload();
      await page.getByRole('link', { name: 'Guests' }).waitFor();
      expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toContain('"back"');
      expect(await page.getByRole('button', { name: 'Undo' }).count()).toBe(0);
    },
    { stage: { ownApi }, clock: true },
  );
});

it('limits are not given back unseen where there is no list yet: that is said, and the offer stands anew', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      await limitTwo(page);
      let isAway = true;
      const away = { status: 502, json: { ok: false, error: 'away' } };
      await page.route(`${stage.api}/users`, (route) => (isAway ? route.fulfill(away) : route.continue()));
      await page.reload();
      await page.getByRole('button', { name: 'Undo' }).click();
      await page.locator('.toast').getByText('The server does not answer.').waitFor();
      expect(await stage.call('GET', '/users/guest-2026')).toMatchObject({ limit_bytes: 7_516_192_768 });
      await stage.call('PUT', '/users/guest-2026/limit', { limit_bytes: 1 });
      isAway = false;
      await page.getByRole('button', { name: 'Undo' }).click();
      await page.getByText('The limit is as it was.').waitFor();
      await page.getByText('Limits changed meanwhile stay: 1.').waitFor();
      expect(await stage.call('GET', '/users/guest-2026')).toMatchObject({ limit_bytes: 1 });
    },
    { stage: { ownApi: false }, expected: /status of 502/ },
  );
});

it('messages and the offer to undo are in the language that is chosen meanwhile, and go at a sign-out with the keys that they name', async () => {
  await withPanel('current', async (page) => {
    await goTo(page, 'Keys');
    await page.getByLabel('Select Guests').check();
    await limitSelected(page);
    await page.getByText('Limit set.').waitFor();
    await page.getByRole('button', { name: 'RU Русский' }).click();
    await page.getByText('Лимит установлен.').waitFor();
    expect(await page.locator('.toast').getByRole('button', { name: 'Отменить' }).count()).toBe(1);
    await page.getByRole('button', { name: 'Выйти' }).click();
    await page.getByRole('textbox', { name: 'Пароль' }).waitFor();
    expect(await page.locator('.toast').count()).toBe(0);
    expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toContain('guest-2026');
  });
});

it('the offer to undo stays while messages of other things come', async () => {
  await withPanel(
    'current',
    async (page) => {
      await goTo(page, 'Keys');
      await page.getByLabel('Select Guests').check();
      await limitSelected(page);
      await page.getByText('Limit set.').waitFor();
      await holdTime(page);
      for (let copied = 0; copied < 5; copied += 1)
        await page.getByRole('button', { name: 'Copy link: Exact' }).click();
      await expect.poll(() => page.locator('.toast').getByText('Link copied.').count()).toBe(4);
      await page.locator('.toast').getByRole('button', { name: 'Undo' }).click();
      await page.getByText('The limit is as it was.').waitFor();
    },
    { clock: true },
  );
});

it('a batch is noted once in the audit list, though the page is reloaded at its end', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByLabel('Select Guests').check();
    let isHeld = true;
    await page.route(`${stage.api}/server/status`, (route) => (isHeld ? undefined : route.continue()));
    const ended = page.waitForResponse((response) => /jobs\/.*limit=10000/.test(response.url()));
    await limitSelected(page);
    await ended;
    // The page has the end of the batch, and asks for the list anew.
    await page.evaluate('new Promise((done) => setTimeout(done))');
    isHeld = false;
    await page.reload();
    await page.getByText('Limit set.').waitFor();
    // A change that is noted after it: what is noted of the batch is there by then.
    await page.getByRole('button', { name: 'Edit: Guests' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Visitors');
    await page.keyboard.press('Enter');
    const noted = async () => {
      const entries = (await stage.call('GET', '/audit')) as readonly { readonly eventEn: string }[]; // As the API says.
      return entries.map(({ eventEn }) => eventEn.replace(/ \W.*/, '')).filter((text) => !text.startsWith('Batch'));
    };
    await expect.poll(noted).toContain('Changed a key');
    expect((await noted()).filter((text) => text.startsWith('Set the limit'))).toHaveLength(1);
  });
});

it('of a batch that the server has taken in part, the rest alone is offered when it is too late to send it again', async () => {
  const stage = await startStage('current');
  const deletionOf = (key: string) => ({ item: { op: 'delete', access_key: key } });
  const kept = {
    ...{ verb: 'delete', name: 'Guests', begunAt: 0, changes: ['guest-2026', 'exact-limit'].map(deletionOf) },
    parts: ['taken', null].map((job, from) => ({ from, count: 1, once: `part-${from}`, job })),
  };
  const stored = { ...(await storedSession(stage)), [`keyway:batches:${stage.api}`]: JSON.stringify([kept]) };
  const { page, expectClean, close } = await openPage(stage.panel, { stored });
  await bar(page).getByText('before this was finished: Deleting Exact').waitFor();
  await bar(page).getByRole('button', { name: 'Go on' }).click();
  await page.getByText('Key deleted.').waitFor();
  expect(await stage.fileText()).not.toContain('exact-limit');
  expect(await stage.fileText()).toContain('guest-2026');
  expectClean();
  await close();
  await stage.close();
});

it('a copy of the tab does not offer the batch that goes on in the first', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      await goTo(page, 'Keys');
      for (const name of ['Guests', 'Exact']) await page.getByLabel(`Select ${name}`).check();
      await page.route(`${stage.api}/users/*/limit`, () => undefined);
      await limitSelected(page);
      await page.getByRole('progressbar', { name: '0 of 2' }).waitFor();
      const stored = (await page.evaluate('({ ...sessionStorage })')) as Readonly<Record<string, string>>; // All are texts.
      const name = `keyway:batches:${stage.api}`;
      expect(stored[name]).toContain('guest-2026');
      const copy = await openPage(stage.panel, { stored });
      await expect.poll(() => copy.page.evaluate(`sessionStorage.getItem('${name}')`)).toBeNull();
      await copy.page.getByRole('link', { name: 'Guests' }).first().waitFor();
      expect(await bar(copy.page).count()).toBe(0);
      copy.expectClean();
      await copy.page.close();
      expect(await page.evaluate(`sessionStorage.getItem('${name}')`)).toBe(stored[name]);
      await bar(page).getByText('Setting the limit of 2 keys').waitFor();
    },
    { stage: { ownApi: false } },
  );
});

it('where the tab has no room for what is to be kept over a reload, the bar says so until it is done', async () => {
  await withPanel('current', async (page, stage) => {
    await goTo(page, 'Keys');
    await page.getByLabel('Select Guests').check();
    await page.evaluate(`{
      let size = 1 << 20;
      for (let each = 0; size >= 1; each += 1) {
        try {
          sessionStorage.setItem('filler-' + each, 'x'.repeat(size));
        } catch {
          size >>= 1;
        }
      }
    }`);
    const told = gate();
    await page.route('**/keyway/v1/jobs/**', async (route) => {
      await told.opened;
      await route.continue();
    });
    await limitSelected(page);
    await bar(page).getByText('Too much to keep over a reload.').waitFor();
    await expectAccessible(page);
    told.open();
    await page.getByText('Limit set.').waitFor();
    await bar(page).waitFor({ state: 'detached' });
    expect(await stage.call('GET', '/users/guest-2026')).toMatchObject({ limit_bytes: 7_516_192_768 });
  });
});

it('a limit that was changed again stays when limits are given back before the list has told of it', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      await limitTwo(page);
      await stage.call('PUT', '/users/guest-2026/limit', { limit_bytes: 1 });
      await page.getByRole('button', { name: 'Undo' }).click();
      await page.getByText('The limit is as it was.').waitFor();
      expect(await stage.call('GET', '/users/guest-2026')).toMatchObject({ limit_bytes: 1 });
    },
    { stage: { ownApi: false }, clock: true },
  );
});

it("without Keyway's interface a batch whose session ends in the middle goes on after the next sign-in", async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      await goTo(page, 'Keys');
      await page.getByLabel('Select all shown').check();
      const asked = gate();
      const answered = gate();
      await page.route(`${stage.api}/users/*/limit`, async (route) => {
        asked.open();
        await answered.opened;
        await route.continue();
      });
      await limitSelected(page);
      await asked.opened;
      // Somebody else signs in, which ends the page's session.
      await stage.call('POST', '/login', { username: 'admin', password: 'password' });
      answered.open();
      await signIn(page);
      await page.getByText('Limit of 4 keys set.').waitFor();
      expect(await bar(page).count()).toBe(0);
      expect(await stage.call('GET', '/users/exact-limit')).toMatchObject({ limit_bytes: 7_516_192_768 });
    },
    { stage: { ownApi: false } },
  );
});
