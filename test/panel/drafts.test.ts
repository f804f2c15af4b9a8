import { describe, expect, it } from 'vitest';
import { wouldLose } from '../../panel/state/drafts.js';
import { dnsDraftsOf, rulesDraftsOf } from '../../panel/state/server-drafts.js';
import { gate } from './gate.js';
import { SERVER_FILE } from './server-files.js';
import { openDesk, said, settle } from './without-browser.js';

const BOTS = { domain_suffix: ['.bot.example'], ip_cidr: [], action: 'block' };

/** The rules of a server under edit, the first of them removed. */
async function rulesUnderEdit() {
  const desk = await openDesk('current', { file: SERVER_FILE });
  const edit = rulesDraftsOf(desk.workspace);
  await edit.load();
  const present = async () => (await desk.call('GET', 'api/router/rules')) as readonly object[]; // As the API says.
  const first = edit.state.get().draft?.now ?? [];
  edit.change(first.slice(1));
  const addByBot = async () => desk.call('PUT', 'api/router/rules', [...(await present()), BOTS]);
  const theirs = () => edit.state.get().theirs?.map(({ domain_suffix: [name] }) => name);
  return { ...desk, edit, present, first, addByBot, theirs };
}

describe('rules under edit', () => {
  it('are what the server has until they are changed, then unsaved until they are saved, and noted', async () => {
    const { edit, present, call } = await rulesUnderEdit();
    expect([edit.isDirty(), wouldLose()]).toEqual([true, true]);
    await edit.save();
    expect([edit.isDirty(), wouldLose(), said()]).toEqual([false, false, ['Rules saved.']]);
    expect(await present()).toMatchObject([{ action: 'block' }, { protocol: 'tcp' }]);
    await settle();
    expect(JSON.stringify(await call('GET', 'api/audit'))).toContain('Replaced the outbound rules (2 rules)');
    await call('PUT', 'api/router/rules', [BOTS]);
    await edit.load();
    expect(edit.state.get().draft?.now).toMatchObject([BOTS]);
  });

  it('show what somebody else has changed meanwhile, and theirs can be used', async () => {
    const { edit, addByBot, theirs } = await rulesUnderEdit();
    await addByBot();
    await edit.load();
    expect(theirs()).toEqual(['.onion', undefined, '.example.org', '.bot.example']);
    edit.discard();
    expect([edit.isDirty(), edit.state.get().theirs]).toEqual([false, null]);
    expect(edit.state.get().draft?.now).toHaveLength(4);
  });

  it.each([
    ['before the save', /GET api.router.rules/],
    ['while they are being saved', /PUT api.router.rules/],
  ])('are kept and not saved where somebody else changes them %s, and can then be saved over that', async (_, when) => {
    const { edit, on, addByBot, present, theirs } = await rulesUnderEdit();
    const isOver = on(when, async (_call, next) => {
      isOver();
      await addByBot();
      return next();
    });
    await edit.save();
    expect(theirs()).toContain('.bot.example');
    expect([edit.isDirty(), edit.state.get().saveError, said()]).toEqual([true, null, []]);
    expect(await present()).toHaveLength(4);
    await edit.saveOver();
    expect([edit.isDirty(), edit.state.get().theirs, said()]).toEqual([false, null, ['Rules saved.']]);
    expect(await present()).toMatchObject([{ action: 'block' }, { protocol: 'tcp' }]);
  });

  it('are asked about again where somebody else changes them once more', async () => {
    const { edit, addByBot, present, theirs } = await rulesUnderEdit();
    await addByBot();
    await edit.save();
    await addByBot();
    await edit.saveOver();
    expect(theirs()).toHaveLength(5);
    expect(await present()).toHaveLength(5);
  });

  it('that are changed while earlier ones are being saved stay under edit', async () => {
    const { edit, on, first, present } = await rulesUnderEdit();
    const answered = gate();
    on(/PUT/, async (_call, next) => {
      await answered.opened;
      return next();
    });
    const saving = edit.save();
    edit.change(first.slice(2));
    answered.open();
    await saving;
    expect([edit.isDirty(), edit.state.get().draft?.now.length, (await present()).length]).toEqual([true, 1, 2]);
    await edit.save();
    expect(await present()).toHaveLength(1);
  });

  it('do not become what was asked for before a save', async () => {
    const { edit, on } = await rulesUnderEdit();
    const answered = gate();
    const isOver = on(/GET api.router.rules/, async (_call, next) => {
      isOver();
      const answer = await next();
      await answered.opened;
      return answer;
    });
    const loading = edit.load();
    await edit.save();
    answered.open();
    await loading;
    expect(edit.state.get().draft?.now).toHaveLength(2);
  });

  it('that cannot be saved say why, stay under edit and are noted; at a sign-out they go', async () => {
    const { edit, on, workspace, call } = await rulesUnderEdit();
    const isOver = on(/PUT/, () => Promise.reject(new TypeError('fetch failed')));
    await edit.save();
    expect([edit.isDirty(), edit.state.get().saveError]).toMatchObject([true, { kind: 'unreachable' }]);
    await settle();
    expect(JSON.stringify(await call('GET', 'api/audit'))).toContain('"success":false');
    isOver();
    workspace.session.signOut();
    expect([edit.state.get().draft, wouldLose()]).toEqual([null, false]);
  });
});

describe('DNS settings under edit', () => {
  const THEIRS = 'https://theirs.example/q';

  async function upstreamUnderEdit(ownApi: boolean) {
    const desk = await openDesk('0.2.51', { file: SERVER_FILE, ownApi });
    const edit = dnsDraftsOf(desk.workspace);
    await edit.load();
    const now = edit.state.get().draft?.now;
    if (now === undefined) throw new Error('the settings were not read');
    edit.change({ ...now, doh_upstream: 'https://mine.example/q' });
    const present = () => desk.call('GET', 'api/dns/config');
    const changeByBot = async (members: object) =>
      desk.call('POST', 'api/dns/config', { ...Object(await present()), ...members });
    const bodies = () =>
      desk.sent.flatMap(({ method, path, body }) => (method === 'POST' && /dns/.test(path) ? [body] : []));
    return { ...desk, edit, present, changeByBot, bodies };
  }

  it('are sent alone by whoever may do everything in Keyway, and whole to other servers', async () => {
    const keyway = await upstreamUnderEdit(true);
    await keyway.edit.save();
    expect(keyway.bodies()).toEqual(['{"doh_upstream":"https://mine.example/q","enabled":true}']);
    const other = await upstreamUnderEdit(false);
    await other.edit.save();
    expect(other.bodies()[0]).toContain('custom_domains');
  });

  it('show what somebody else has changed meanwhile, and can be saved over it', async () => {
    const { edit, present, changeByBot } = await upstreamUnderEdit(true);
    await changeByBot({ doh_upstream: THEIRS });
    await edit.save();
    expect(edit.state.get().theirs).toMatchObject({ doh_upstream: THEIRS });
    expect(await present()).toMatchObject({ doh_upstream: THEIRS });
    await edit.saveOver();
    expect(await present()).toMatchObject({ doh_upstream: 'https://mine.example/q' });
  });
});
