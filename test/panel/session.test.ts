import { describe, expect, it } from 'vitest';
import { batchesOf } from '../../panel/state/batches.js';
import { keysViewOf } from '../../panel/state/keys-view.js';
import type { Workspace } from '../../panel/state/workspace.js';
import { TOKEN } from './server-files.js';
import { noAnswer, openDesk, pass, refusal, settle } from './without-browser.js';

const phaseOf = ({ session }: Workspace) => session.state.get();

describe('a session', () => {
  it('begins with the right password alone, and is shared with the other tabs until one of them signs out', async () => {
    const { workspace, browser, open } = await openDesk('current', { signed: false });
    expect(phaseOf(workspace)).toEqual({ phase: 'signedOut', problem: null });
    await expect(workspace.session.signIn('admin', 'wrong', false)).rejects.toMatchObject({ kind: 'unauthorized' });
    await workspace.session.signIn('admin', 'password', false);
    const second = await open(browser.openTab());
    expect(phaseOf(second).phase).toBe('signedIn');
    second.session.signOut();
    await settle();
    expect(phaseOf(workspace)).toEqual({ phase: 'lost', reason: 'signedOutElsewhere' });
    await expect(second.session.useToken('nonsense', false)).rejects.toMatchObject({ kind: 'unauthorized' });
    await second.session.useToken(TOKEN, false);
    await settle();
    expect(phaseOf(workspace).phase).toBe('signedIn');
  });

  it('begins in a tab whose other ones are slow to answer as soon as they have', async () => {
    const { browser, open } = await openDesk('current');
    const letGo = browser.holdMessages();
    const late = await open(browser.openTab());
    expect(phaseOf(late).phase).toBe('signedOut');
    letGo();
    await settle();
    expect(phaseOf(late).phase).toBe('signedIn');
  });

  it.each([
    ['that somebody else ended by a sign-in of his own', 'replaced'],
    ['that ended with the server', 'ended'],
  ] as const)('%s is lost for that reason, and nothing of the page with it', async (_, reason) => {
    const { workspace, call, restart, on } = await openDesk('current');
    keysViewOf(workspace).patch({ selected: new Set(['guest-2026']) });
    if (reason === 'replaced') await call('POST', 'api/login', { username: 'admin', password: 'password' });
    else {
      const isBack = on(/./, noAnswer);
      await restart();
      await pass(30_000);
      isBack();
    }
    await pass(10_000);
    expect(phaseOf(workspace)).toEqual({ phase: 'lost', reason });
    await workspace.session.useToken(TOKEN, false);
    await pass(5_000);
    expect(phaseOf(workspace).phase).toBe('signedIn');
    expect(keysViewOf(workspace).get().selected.has('guest-2026')).toBe(true);
  });

  it('that is to stay outlives the tab, another does not, and neither is kept with more than its token', async () => {
    const { workspace, browser, open, tab } = await openDesk('current');
    expect(browser.keptForGood.size).toBe(0);
    workspace.session.signOut();
    await workspace.session.signIn('admin', 'password', true);
    workspace.stop();
    expect(JSON.stringify([...browser.keptForGood, ...tab.kept])).not.toMatch(/admin|"password"/);
    tab.kept.clear();
    const visit = await open();
    expect(phaseOf(visit).phase).toBe('signedIn');
    visit.session.signOut();
    expect(browser.keptForGood.size).toBe(0);
  });

  it('goes on with a token of the device’s own, which another sign-in does not put out and a sign-out ends', async () => {
    const { workspace, browser, open, call, sent } = await openDesk('current');
    await workspace.session.keepDevice('Anna’s phone');
    await call('POST', 'api/login', { username: 'admin', password: 'password' });
    await pass(10_000);
    expect(phaseOf(workspace)).toMatchObject({ phase: 'signedIn', credential: { kind: 'token', stays: true } });
    const later = await open(browser.openTab());
    expect(phaseOf(later).phase, 'after the browser was closed').toBe('signedIn');
    const tokens = () => call('GET', 'keyway/v1/tokens');
    const [token] = (await tokens()) as readonly { readonly name: string }[];
    expect(token).toMatchObject({ may: 'all', label: 'Anna’s phone', made_by: 'session' });
    expect(Date.parse(Object(token).expires_at) - Date.now()).toBeGreaterThan(89 * 86_400_000);
    later.session.signOut();
    await settle();
    expect(await tokens()).toEqual([]);
    expect(sent.filter(({ method }) => method === 'DELETE').map(({ path }) => path)).toEqual([
      `keyway/v1/tokens/${token?.name}`,
    ]);
    expect(browser.keptForGood.size).toBe(0);
  });

  it('does not begin again where the token of the device comes after the sign-out, which ends that, too', async () => {
    const { workspace, browser, call } = await openDesk('current');
    const kept = workspace.session.keepDevice('Anna’s phone');
    workspace.session.signOut();
    await kept;
    await settle();
    expect(phaseOf(workspace).phase).toBe('signedOut');
    expect(browser.keptForGood.size).toBe(0);
    expect(await call('GET', 'keyway/v1/tokens')).toEqual([]);
  });

  it('stands as it was where no token can be made', async () => {
    const { workspace, on } = await openDesk('current');
    on(/^POST keyway\/v1\/tokens/, () => refusal(500, 'failed to save configuration', 'save_failed'));
    await expect(workspace.session.keepDevice('x')).rejects.toMatchObject({ status: 500 });
    expect(phaseOf(workspace)).toMatchObject({ phase: 'signedIn', credential: { kind: 'session' } });
  });

  it('of one mount is not that of another one on the same origin', async () => {
    const { open, browser, sent } = await openDesk('current', {
      mounts: [
        { revision: 'current', webpath: 'new' },
        { revision: 'dns', webpath: 'old' },
      ],
    });
    const old = await open(browser.openTab(), 1);
    expect(phaseOf(old).phase).toBe('signedOut');
    await old.session.signIn('admin', 'password', false);
    await settle();
    const shown = (root: string) =>
      new Set(sent.flatMap(({ url, headers }) => (url.startsWith(root) ? [headers.get('authorization')] : [])));
    const [here, there] = [shown('/new/'), shown('/old/')];
    expect([...here].filter((value) => value !== null && there.has(value))).toEqual([]);
    expect(there.size).toBeGreaterThan(1);
  });

  it('that ends by a sign-out leaves no key in the storage of the tab', async () => {
    const { workspace, tab } = await openDesk('current');
    batchesOf(workspace);
    keysViewOf(workspace).patch({ selected: new Set(['guest-2026']), query: { kind: 'part', text: 'guest-2026' } });
    await pass(20_000);
    tab.leave();
    expect(JSON.stringify([...tab.kept])).toContain('guest-2026');
    workspace.session.signOut();
    tab.leave();
    expect(JSON.stringify([...tab.kept])).not.toContain('guest-2026');
  });
});

it('search, filter, order and selection of the list are those of before a reload', async () => {
  const { workspace, tab, open } = await openDesk('current');
  const chosen = {
    query: { kind: 'part', text: 'gu' },
    filter: 'online',
    sorting: { column: 'name', descending: false },
  } as const;
  keysViewOf(workspace).patch({ ...chosen, selected: new Set(['guest-2026', 'exact-limit']) });
  tab.leave();
  const after = keysViewOf(await open()).get();
  expect(after).toEqual({ ...chosen, selected: new Set(['guest-2026', 'exact-limit']) });
});
