import { expect, it } from 'vitest';
import { parseExact } from '../../../panel/text/exact-json.js';
import { withPanel } from './in-browser.js';
import { contentOf, goTo } from './stage.js';

const COLUMNS = 'name,access_key,link,note,limit_bytes,bytes_up,bytes_down,bytes_used,connections,online,status';

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
      /,18446744073709551615,9007199254740993,9007199254740995,18014398509481988,0,false,used$/,
    );
    const json = page.waitForEvent('download');
    await page.getByRole('button', { name: 'JSON' }).click();
    const file = await json;
    expect(file.suggestedFilename()).toMatch(/^keys-.*\.json$/);
    expect(parseExact(String(await contentOf(file)))).toContainEqual({
      name: 'Exact',
      access_key: 'exact-limit',
      link: expect.stringContaining('ostp://exact-limit@'),
      note: null,
      limit_bytes: 2n ** 64n - 1n,
      bytes_up: 9_007_199_254_740_993n,
      bytes_down: 9_007_199_254_740_995n,
      bytes_used: 18_014_398_509_481_988n,
      connections: 0,
      online: false,
      status: 'used',
    });
  });
});
