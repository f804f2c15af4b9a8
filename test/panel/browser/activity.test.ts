import { describe, expect, it } from 'vitest';
import { readAuditText, signature } from '../../../panel/text/audit-text.js';
import { csvTable, jsonLines } from '../../../panel/text/tables.js';
import { withPanel } from './in-browser.js';
import { overHomes } from './over-homes.js';
import { contentOf, goTo } from './stage.js';

describe('an audit entry', () => {
  it.each([
    ['Deleted 2 keys · session · 2026-11-23T10:00:00Z', 'Deleted 2 keys', 'session', Date.UTC(2026, 10, 23, 10)],
    ['Deleted 2 keys', 'Deleted 2 keys', null, null],
    ['Deleted · nobody · 2026-11-23T10:00:00Z', 'Deleted · nobody · 2026-11-23T10:00:00Z', null, null],
    ['Token relay (relay) made by ops', 'Token relay (relay) made by ops', 'ops', null],
    ['Batch 7 (bot-1): 1 of 1 keys done, 0 failed', 'Batch 7 (bot-1): 1 of 1 keys done, 0 failed', 'bot-1', null],
  ])('%s is read with who and when', (text, shown, by, at) => {
    expect(readAuditText(text)).toEqual({ text: shown, by, at });
  });

  it('is read as it was signed', () => {
    const at = Date.UTC(2026, 10, 23, 10);
    expect(readAuditText(`Saved${signature('token', at)}`)).toEqual({ text: 'Saved', by: 'token', at });
  });
});

describe('a table', () => {
  const rows = [{ name: '=cmd()', n: 2n ** 64n - 1n, ok: null }];

  it('as CSV has its members, every digit, and no formula', () => {
    expect(csvTable(rows)).toBe("name,n,ok\r\n'=cmd(),18446744073709551615,\r\n");
  });

  it('as JSON has every digit', () => {
    expect(jsonLines(rows)).toBe('[\n{"name":"=cmd()","n":18446744073709551615,"ok":null}\n]\n');
    expect(JSON.parse(jsonLines([]))).toEqual([]);
  });
});

overHomes((withPanel) => {
  it('events appear as they happen, each a sentence with links to the keys that are there, and can be filtered', async () => {
    await withPanel(async ({ page, expectAccessible, app }) => {
      const { core } = app.keyway;
      await goTo(page, 'Audit');
      await page.getByRole('button', { name: 'Events', exact: true }).click();
      await page.getByText('by whomever').waitFor();
      await core.createUser({ accessKey: 'event-key', name: 'Eve', limitBytes: null });
      const created = page.getByRole('listitem').filter({ hasText: 'created: ' });
      await created.getByText('Eve').waitFor();
      await core.setLimit('event-key', 5n);
      await page.getByRole('listitem').filter({ hasText: 'Key changed: Eve' }).waitFor();
      await expectAccessible();
      await created.getByRole('link', { name: 'Eve' }).click();
      await page.getByRole('dialog', { name: 'Eve' }).waitFor();
      await page.goBack();
      await core.deleteUser('event-key');
      await page.getByRole('listitem').filter({ hasText: 'Key removed: event-key' }).waitFor();
      await page.getByRole('combobox', { name: 'Show' }).selectOption('Removed');
      await expect.poll(() => page.getByRole('list', { name: 'Events' }).getByRole('listitem').count()).toBe(1);
      await page.getByRole('combobox', { name: 'Show' }).selectOption('Configuration');
      await page.getByRole('heading', { name: 'No entries' }).waitFor();
    });
  });
});

overHomes(
  (withPanel) => {
    it('the audit list has date, zone and who, is filtered, and saved as CSV and JSON', async () => {
      await withPanel(
        async ({ page, expectAccessible, app }) => {
          const { audit } = app.keyway.core;
          await audit.add({ eventEn: '=Door opened', eventRu: 'Дверь открыта', success: false });
          await goTo(page, 'Keys');
          await page.getByRole('button', { name: 'New key' }).click();
          await page.getByRole('button', { name: 'Create', exact: true }).click();
          await expect.poll(async () => JSON.stringify(await audit.list())).toContain('Created a key · session · ');
          // The window of the new key follows the form, which has such a button, too.
          await page.getByRole('button', { name: 'Rotate' }).waitFor();
          await page.getByRole('button', { name: 'Close' }).click();
          await goTo(page, 'Audit');
          const created = page.getByRole('row', { name: /Created a key Done/ });
          await created.waitFor();
          expect(await created.textContent()).toMatch(/2\d{3}.*:.*signed in/);
          await page.getByRole('columnheader', { name: 'Time (GMT+13)' }).waitFor();
          await page.getByRole('row', { name: /^\d\d:\d\d:\d\d — =Door opened Failed/ }).waitFor();
          await expectAccessible();

          const saved = page.waitForEvent('download');
          await page.getByRole('button', { name: 'CSV' }).click();
          const csv = String(await contentOf(await saved));
          expect(csv.split('\r\n')[0]).toBe('time,server_time,by,event,success');
          expect(csv).toMatch(/\r\n2\d{3}-[^,]*Z,\d\d:\d\d:\d\d,session,Created a key,true\r\n/);
          expect(csv).toMatch(/\r\n,\d\d:\d\d:\d\d,,'=Door opened,false\r\n/);
          const json = page.waitForEvent('download');
          await page.getByRole('button', { name: 'JSON' }).click();
          expect(JSON.parse(String(await contentOf(await json)))).toContainEqual(
            expect.objectContaining({ time: null, event: '=Door opened', by: null, success: false }),
          );

          await page.getByRole('button', { name: 'Failed only' }).click();
          await created.waitFor({ state: 'detached' });
          await page.getByRole('searchbox', { name: 'Filter by event or who' }).fill('nothing');
          await page.getByText('No matching entries.').waitFor();
        },
        { timezoneId: 'Pacific/Tongatapu' },
      );
    });
  },
  ['file', 'server'],
);

describe('the list of events', () => {
  const time = (index: number) => new Date(Date.UTC(2026, 10, 23) + index * 1000).toISOString();
  const told = (type: string, data: object, index: number) => ({ id: `e${index}`, time: time(index), type, data });
  const SAID: readonly (readonly [string, object, string])[] = [
    ['configuration.changed', { reason: 'edited' }, 'Configuration file edited by hand'],
    ['server.away', {}, 'The server does not answer'],
    ['server.updated', { from: '0.2.96', to: '0.3.6' }, 'Server updated from 0.2.96 to 0.3.6'],
    ['job.ended', { state: 'done', done: 3, total: 3, failed: 0 }, 'Batch ended: 3 of 3 done.'],
    ['job.ended', { state: 'stopped', done: 3, total: 9, failed: 1 }, 'Batch stopped: 3 of 9 done. 1 failed.'],
    ['key.changed', { whole: true }, 'More keys changed at once than can be named.'],
    ['key.removed', { keys: [{ access_key: 'gone', name: null }] }, 'Key removed: gone'],
    ['later.kind', {}, 'later.kind'],
  ];

  it('has a sentence for each kind, and older events when they are asked for', async () => {
    await withPanel('current', async (page) => {
      const asked: string[] = [];
      await page.route(/\/events\?limit=/, async (route) => {
        const limit = Number(new URL(route.request().url()).searchParams.get('limit'));
        asked.push(String(limit));
        const older = Array.from({ length: Math.min(limit, 130) - SAID.length }, (_, index) =>
          told('server.back', {}, index),
        );
        const newest = SAID.map(([type, data], index) => told(type, data, 1_000 + index));
        await route.fulfill({ json: { ok: true, data: { cursor: 'e', whole: false, events: [...older, ...newest] } } });
      });
      await page.evaluate('location.hash = "#/audit/events"');
      const entries = page.getByRole('list', { name: 'Events' }).locator('li > p');
      await expect.poll(() => entries.count()).toBe(100);
      const newest = (await entries.allInnerTexts()).slice(0, SAID.length);
      expect(newest).toEqual(SAID.map(([, , text]) => text).reverse());
      await page.getByRole('button', { name: 'Show older' }).click();
      await expect.poll(() => entries.count()).toBe(130);
      await page.getByRole('button', { name: 'Show older' }).waitFor({ state: 'detached' });
      expect(new Set(asked)).toEqual(new Set(['100', '500']));
    });
  });
});
