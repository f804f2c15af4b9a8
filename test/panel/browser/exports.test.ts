import { describe, expect, it } from 'vitest';
import { keyTable } from '../../../panel/state/key-table.js';
import { parseExact } from '../../../panel/text/exact-json.js';
import { withPanel } from './in-browser.js';
import { contentOf, goTo } from './stage.js';

const COLUMNS = 'name,access_key,link,limit_bytes,bytes_up,bytes_down,bytes_used,connections,online,status';

describe('the table of keys', () => {
  it('leaves empty what the server does not tell of a key, or not yet', () => {
    const old = { access_key: 'a', bytes_up: 1, bytes_down: 2, connections: 3, limit_bytes: null, online: true };
    const linked = ['a', 'b'].map((key) => ({ key, name: '', link: `ostp://${key}` }));
    const [known, unknown] = keyTable(linked, new Map([['a', old]]));
    expect(known).toMatchObject({ name: null, bytes_used: 3, online: null, status: 'active', limit_bytes: null });
    expect(unknown).toMatchObject({ access_key: 'b', link: 'ostp://b', bytes_up: null, status: null });
    expect(Object.keys(unknown ?? {}).join(',')).toBe(COLUMNS);
  });
});

it('selected keys are saved with all columns as CSV, without a formula, and as JSON with every digit', async () => {
  await withPanel('current', async (page, stage) => {
    await stage.call('POST', '/users', { name: '=1+1', access_key: 'formula' });
    await goTo(page, 'Keys');
    await page.getByRole('link', { name: '=1+1' }).waitFor();
    await page.getByLabel('Select all shown').check();
    const csv = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV' }).click();
    const lines = String(await contentOf(await csv)).split('\r\n');
    expect(lines[0]).toBe(COLUMNS);
    expect(lines.find((line) => line.includes('formula'))).toMatch(
      /^'=1\+1,formula,ostp:\/\/formula@.*,,0,0,0,0,false,unused$/,
    );
    expect(lines.find((line) => line.includes('exact-limit'))).toMatch(
      /,18446744073709551615,9007199254740993,9007199254740995,18014398509481988,0,false,active$/,
    );
    const json = page.waitForEvent('download');
    await page.getByRole('button', { name: 'JSON' }).click();
    const file = await json;
    expect(file.suggestedFilename()).toMatch(/^keys-.*\.json$/);
    expect(parseExact(String(await contentOf(file)))).toContainEqual({
      name: 'Exact',
      access_key: 'exact-limit',
      link: expect.stringContaining('ostp://exact-limit@'),
      limit_bytes: 2n ** 64n - 1n,
      bytes_up: 9_007_199_254_740_993n,
      bytes_down: 9_007_199_254_740_995n,
      bytes_used: 18_014_398_509_481_988n,
      connections: 0,
      online: false,
      status: 'active',
    });
  });
});

it('each chart says since when the page has recorded it, and what moved', async () => {
  await withPanel(
    'current',
    async (page, stage) => {
      // In the list of keys that the page has.
      await page.getByRole('link', { name: 'Guests' }).first().waitFor();
      const counted = { bytesUp: 4_000_000_000n, bytesDown: 45_000_000_000n + 2n * 1024n ** 3n, connections: 0n };
      stage.app.keyway.local?.keys.setCounters('guest-2026', counted);
      const caption = page.getByText(/^Since .*, while this page was open: 2\sGiB down, 0\sB up\./);
      await expect
        .poll(async () => {
          await page.clock.fastForward(6_000);
          return caption.count();
        })
        .toBe(1);
      await page.evaluate('location.hash = "#/keys/guest-2026"');
      await page.getByRole('dialog', { name: 'Guests' }).waitFor();
      await expect.poll(() => caption.count()).toBe(1);
    },
    { clock: true },
  );
});
