import { expect, it, onTestFinished } from 'vitest';
import type { OwnEvent } from '../../../src/own-api/events.js';
import { systemClock } from '../../../src/platform/system-ports.js';
import { buildIfOlder } from '../../building.js';
import { startKeyway } from '../../commands/process.js';
import { folderForTest } from '../../folder-for-test.js';
import { fileStage } from '../../own-api/homes.js';
import { type OwnStage, ownStage } from '../../own-api/stage.js';
import { describeDatabase, freshDatabase } from './database.js';
import { openBackend } from './gateways.js';

/** Milliseconds for which a holder of the lease may say nothing. */
const LEASE = 10_000;

const toldBy = async ({ call }: OwnStage): Promise<readonly OwnEvent[]> =>
  Object((await call('GET /events')).body).data.events;

/** The types of events with the keys or the reason that each names. */
const wordsOf = ({ type, data }: OwnEvent): readonly unknown[] =>
  Array.isArray(data.keys) ? data.keys.map((key) => `${type} ${Object(key).access_key}`) : [`${type} ${data.reason}`];

describeDatabase('events over a database', () => {
  it('are all told where the gateway that observed was killed, what changed since by gateways that are gone, too, and nothing that was told before', async () => {
    const url = await freshDatabase();
    await buildIfOlder();
    const running = startKeyway(['serve', '--bind', '127.0.0.1:0', '--no-resolver'], {
      folder: await folderForTest(),
      environment: { KEYWAY_DATABASE_URL: url },
    });
    onTestFinished(() => void running.child.kill('SIGKILL'));
    await running.logged(({ url: at }) => typeof at === 'string' && at.startsWith('http'));

    const second = await ownStage({ database: { url } });
    const { core } = second.app.keyway;
    for (const accessKey of ['renamed', 'removed', 'reset', 'used'])
      await core.createUser({ accessKey, name: null, limitBytes: 100n });
    await expect.poll(async () => (await toldBy(second)).flatMap(wordsOf)).toHaveLength(4);
    running.child.kill('SIGKILL');
    await running.ended;

    await core.updateUser({ accessKey: 'renamed', name: 'Renamed', limitBytes: 100n });
    await core.deleteUser('removed');
    await core.resetUser('reset');
    await core.createUser({ accessKey: 'made', name: null, limitBytes: null });
    const entries = [{ accessKey: 'used', bytesUp: 100n, bytesDown: 0n, connections: null }];
    await second.app.keyway.backend.count({ id: null, entries }, 'durable');
    await patch(second.call, { dns: { enabled: true } });
    const before = await toldBy(second);
    await second.app.close();

    const ahead = { milliseconds: 0 };
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + ahead.milliseconds };
    const third = await ownStage({ database: { url }, clock });
    ahead.milliseconds += LEASE;
    const missed = async () => (await toldBy(third)).slice(before.length).flatMap(wordsOf);
    await expect.poll(missed).not.toEqual([]);
    await third.app.keyway.core.createUser({ accessKey: 'last', name: null, limitBytes: null });
    await expect.poll(missed).toContain('key.created last');
    expect((await missed()).toSorted()).toEqual([
      'configuration.changed replaced',
      'key.changed renamed',
      'key.changed reset',
      'key.created last',
      'key.created made',
      'key.over_limit used',
      'key.removed removed',
      'key.reset reset',
    ]);
  }, 120_000);

  it('are those of the configuration, too, where more keys changed than are told one by one', async () => {
    const { document, past } = await openBackend(await freshDatabase());
    const mark = past?.mark() ?? '';
    const keys = Array.from({ length: 65_537 }, (_, index) => `key-${index}`);
    await document.replace(Buffer.from(JSON.stringify({ mode: 'server', access_keys: keys })));
    expect(await past?.since(mark)).toEqual({ keys: null, settings: 'replaced' });
    expect(await past?.since(past.mark())).toEqual({ keys: [], settings: null });
    expect(await past?.since(mark.replace(/ .* /, ' 00000000-0000-0000-0000-000000000000 '))).toBeNull();
  }, 120_000);

  it('say by the same words as over a file how the configuration became another, whichever gateway changed it', async () => {
    const url = await freshDatabase();
    const observing = await ownStage({ database: { url } });
    const other = await ownStage({ database: { url } });
    const overFile = await fileStage();
    /** Each is one change, observed before the next. */
    const changes: readonly ((stage: OwnStage) => Promise<unknown>)[] = [
      ({ call }) => patch(call, { outbound: { enabled: true, default_action: 'direct', rules: [] } }),
      ({ app }) => app.keyway.core.replaceRules([{ ...RULE, action: 'direct' }]),
      ({ app }) => app.keyway.core.changeDns({ enabled: true }),
      // Of this Keyway reads nothing.
      ({ call }) => patch(call, { of_another: [1] }),
    ];
    const reasons = async (changed: OwnStage, observed: OwnStage) => {
      const told = async () => (await toldBy(observed)).flatMap(wordsOf);
      for (const [index, change] of changes.entries()) {
        await change(changed);
        await expect.poll(told).toHaveLength(index + 1);
      }
      return told();
    };
    const expected = await reasons(overFile, overFile);
    expect(expected.map((word) => String(word).split(' ')[1])).toEqual(['replaced', 'saved', 'saved', 'replaced']);
    expect(await reasons(other, observing)).toEqual(expected);
    const { document } = await openBackend(url);
    const [first] = await document.versions.list();
    await document.restore(first?.id ?? '');
    await expect
      .poll(async () => (await toldBy(observing)).flatMap(wordsOf).at(-1))
      .toBe('configuration.changed restored');
  }, 120_000);
});

const RULE = { domainSuffix: ['example.org'], ipCidr: [], protocol: null };

async function patch(call: OwnStage['call'], body: unknown): Promise<void> {
  const answer = await call('PATCH /configuration', {
    body,
    headers: { 'content-type': 'application/merge-patch+json' },
  });
  expect(answer.status).toBe(200);
}
