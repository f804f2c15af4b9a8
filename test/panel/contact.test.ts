import { describe, expect, it, vi } from 'vitest';
import { sentence, wordsIn } from '../../panel/i18n/text.js';
import { gate } from './gate.js';
import { noAnswer, openDesk, pass } from './without-browser.js';

/** A page that asks for its list as a whole, and how often it has. */
async function deskWithoutInterface() {
  const desk = await openDesk('current', { ownApi: false });
  const sentTo = (path: string) =>
    desk.sent.filter((call) => `${call.method} ${call.path}` === `GET api/${path}`).length;
  desk.sent.length = 0;
  return { ...desk, lists: () => sentTo('users'), tries: () => sentTo('server/status') };
}

describe('refreshing', () => {
  it('happens every 5 seconds, not in a hidden tab, and at once when the tab is seen again', async () => {
    const { tab, lists } = await deskWithoutInterface();
    await pass(5_000);
    expect(lists()).toBe(1);
    await pass(10_000);
    expect(lists()).toBe(3);
    tab.setHidden(true);
    await pass(600_000);
    expect(lists()).toBe(3);
    tab.setHidden(false);
    await pass(250);
    expect(lists()).toBe(4);
    await pass(5_000);
    expect(lists()).toBe(5);
  });

  it('asks a server that is away every 4 seconds whether it is back, and nothing else, and keeps what it has', async () => {
    const { on, lists, tries, workspace } = await deskWithoutInterface();
    const isBack = on(/./, noAnswer);
    await pass(5_000);
    expect(workspace.contact.state.get()).toMatchObject({
      failingSince: expect.any(Number),
      failure: { kind: 'unreachable' },
    });
    const [asked, tried] = [lists(), tries()];
    await pass(20_000);
    expect([lists() - asked, tries() - tried]).toEqual([0, 5]);
    expect(workspace.users.state.get().byKey.has('guest-2026')).toBe(true);
    isBack();
    await pass(4_000);
    expect([lists() - asked, workspace.contact.state.get().failingSince]).toEqual([1, null]);
  });

  it('asks as often where the clock is set back meanwhile', async () => {
    const { on, tries } = await deskWithoutInterface();
    on(/./, () => {
      vi.setSystemTime(Date.now() - 3_600_000);
      return noAnswer();
    });
    await pass(5_000);
    const tried = tries();
    await pass(20_000);
    expect(tries() - tried).toBe(5);
  });

  it('gives up on an answer that does not come in 20 seconds, and goes on when somebody asks again', async () => {
    const { on, workspace } = await deskWithoutInterface();
    const answered = gate();
    const isBack = on(/server.status/, async (_call, next) => {
      await answered.opened;
      return next();
    });
    await pass(24_000);
    expect(workspace.contact.state.get().failure).toBeNull();
    await pass(2_000);
    expect(workspace.contact.state.get().failure).toMatchObject({ kind: 'timeout' });
    answered.open();
    isBack();
    await Promise.all([workspace.contact.now(), pass(250)]);
    expect(workspace.contact.state.get().failure).toBeNull();
  });
});

describe('a server that answers badly', () => {
  const answer = (body: string, status = 200, type = 'application/json') =>
    new Response(body, { status, headers: { 'content-type': type } });
  const cut = () =>
    new Response(new ReadableStream({ start: (controller) => controller.error(new TypeError('network error')) }));

  it.each([
    ['a web page', () => answer('<h1>hello</h1>', 200, 'text/html'), /^The server sent a web page/],
    ['nothing', () => answer(''), /answer is incomplete/],
    ['half an answer', () => answer('{"ok":true,"data":[{"acc'), /answer is incomplete/],
    ['another value', () => answer('{"ok":true,"data":[{"access_key":1}]}'), /unexpected value at data\[0\]/],
    ['its own fault', () => answer('oops', 500, 'text/plain'), /^Server error \(500\)/],
    ['an answer that breaks off', cut, /^The server does not answer/],
  ])('with %s is told of in words, the list stays, and the page goes on when it is well again', async (_, given, told) => {
    const { on, workspace } = await deskWithoutInterface();
    const isWell = on(/GET api.users/, async () => given());
    await pass(5_000);
    const { failure, failingSince } = workspace.contact.state.get();
    expect(sentence(failure, wordsIn('en'))).toMatch(told);
    expect([failingSince !== null, workspace.users.state.get().users?.length]).toEqual([true, 4]);
    isWell();
    await pass(5_000);
    expect(workspace.contact.state.get().failure).toBeNull();
  });
});
