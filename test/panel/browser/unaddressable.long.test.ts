import { expect, it, onTestFinished } from 'vitest';
import { runHere } from '../../commands/context.js';
import { CREDENTIALS, fileOf } from '../../stand-in/files.js';
import { standInOf } from '../../stand-in/test-stand-in.js';
import { expectAccessible } from './axe.js';
import { goTo, hurry, listenForPages, openPage, signIn } from './stage.js';

const ODD = 'tab\there';
it('a key of a server that nobody can print is deleted in the page, which says of an empty one by which command', async () => {
  const { createGateway } = await import('../../../src/index.js');
  const text = fileOf('0.2.96').replace('"access_keys": [', `"access_keys": ["", ${JSON.stringify(ODD)}, `);
  const standIn = await standInOf('0.2.96', { reloadFactor: 0, pauseMilliseconds: 0 }, text);
  const gateway = await createGateway({
    mounts: [{ revision: 'current' }],
    loginGuard: 'off',
    upstream: { url: `${standIn.origin}/panel`, token: CREDENTIALS.token },
  });
  onTestFinished(() => gateway.close());
  const origin = await listenForPages(gateway);
  const base = `${origin}${gateway.keyway.mounts[0]?.base}`;
  const command = `keyway keys remove --digest e3b0c442 --target ${base}`;
  const present = () => standIn.keys().map(({ accessKey }) => accessKey);

  const { page, expectClean } = await openPage(`${base}/`, { permissions: ['clipboard-read', 'clipboard-write'] });
  await signIn(page, CREDENTIALS.password);
  await hurry(page);
  await goTo(page, 'Keys');
  for (const name of ['(digest e3b0c442)', 'tab[U+0009]here'])
    await page.getByRole('checkbox', { name: `Select ${name}` }).check();
  await page.getByRole('button', { name: 'Delete' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('A browser cannot address 1 key.').waitFor();
  expect(await dialog.locator('code').textContent()).toBe(command);
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Copy the command' }).click();
  await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(command);
  const sure = dialog.getByRole('button', { name: 'Delete', exact: true });
  await sure.click();
  await page.getByText('Key deleted.').waitFor();
  expect(present()).toEqual(expect.not.arrayContaining([ODD]));
  expect(present()).toContain('');
  await page.getByRole('checkbox', { name: 'Select (digest e3b0c442)' }).check();
  await page.getByRole('button', { name: 'Delete' }).click();
  await dialog.getByText('cannot address 1 key.').waitFor();
  expect(await sure.count()).toBe(0);
  expectClean();

  const before = present();
  const [, ...argv] = command.split(' ');
  const removed = await runHere([...argv, '--no-wait'], { environment: { KEYWAY_TOKEN: CREDENTIALS.token } });
  expect(removed).toMatchObject({ code: 0, output: 'Removed (digest e3b0c442)  no limit\n' });
  await standIn.reload();
  expect(present().toSorted()).toEqual(before.filter((key) => key !== '').toSorted());
});
