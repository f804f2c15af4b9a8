import { expect, it, onTestFinished } from 'vitest';
import { runHere } from '../../commands/context.js';
import { CREDENTIALS, fileOf } from '../../stand-in/files.js';
import { standInOf } from '../../stand-in/test-stand-in.js';
import { expectAccessible } from './axe.js';
import { goTo, holdTime, listenForPages, openPage, signIn } from './stage.js';

const ODD = 'tab\there';
const UNDO_TIME = 5_000;
const FORMS = {
  'en-US': {
    login: ['Username', 'Password', 'Sign in'],
    keys: 'Keys',
    select: /^Select/,
    remove: 'Delete',
    cannot: 'A browser cannot address this key',
    copy: 'Copy the command',
  },
  'ru-RU': {
    login: ['Имя пользователя', 'Пароль', 'Войти'],
    keys: 'Ключи',
    select: /^Выбрать/,
    remove: 'Удалить',
    cannot: 'Браузер не может обратиться к этому ключу',
    copy: 'Скопировать команду',
  },
} as const;

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

  async function dialogIn(locale: keyof typeof FORMS) {
    const { login, keys, select, remove, cannot } = FORMS[locale];
    const watched = await openPage(`${base}/`, {
      locale,
      clock: true,
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const { page } = watched;
    await signIn(page, CREDENTIALS.password, login);
    await goTo(page, keys);
    for (const name of ['(digest e3b0c442)', 'tab[U+0009]here'])
      await page.getByRole('checkbox', { name: select }).and(page.getByLabel(name)).check();
    await page.getByRole('button', { name: remove }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(cannot).waitFor();
    expect(await dialog.locator('code').textContent()).toBe(command);
    return { ...watched, dialog };
  }

  const russian = await dialogIn('ru-RU');
  russian.expectClean();
  await russian.close();

  const { page, dialog, expectClean } = await dialogIn('en-US');
  await expectAccessible(page);
  await dialog.getByRole('button', { name: FORMS['en-US'].copy }).click();
  await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(command);
  const sure = dialog.getByRole('button', { name: 'Delete', exact: true });
  await holdTime(page);
  await sure.click();
  await page.clock.fastForward(UNDO_TIME);
  await page.getByText('Key deleted.').waitFor();
  expect(present()).toEqual(expect.not.arrayContaining([ODD]));
  expect(present()).toContain('');
  await page.clock.resume();
  await page.getByRole('checkbox', { name: 'Select (digest e3b0c442)' }).check();
  await page.getByRole('button', { name: 'Delete' }).click();
  await dialog.getByText('cannot address this key').waitFor();
  expect(await sure.count()).toBe(0);
  expectClean();

  const before = present();
  const [, ...argv] = command.split(' ');
  const removed = await runHere([...argv, '--no-wait'], { environment: { KEYWAY_TOKEN: CREDENTIALS.token } });
  expect(removed).toMatchObject({ code: 0, output: 'Removed (digest e3b0c442)  no limit\n' });
  await standIn.reload();
  expect(present().toSorted()).toEqual(before.filter((key) => key !== '').toSorted());
});
