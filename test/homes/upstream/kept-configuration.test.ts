import { describe, expect, it } from 'vitest';
import { UpstreamError } from '../../../src/client/upstream-error.js';
import { readDocument } from '../../../src/document/document.js';
import { withKnownKeys } from '../../../src/document/known-keys.js';
import { createKeptVersions } from '../../../src/files/kept-versions.js';
import { readKnownKeys } from '../../../src/homes/upstream/known-keys.js';
import { createKey, deleteKey } from '../../ports/key-changes.js';
import { held, key, type Staged, staged } from './staged.js';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

const configurationOf = (names: readonly string[]) => JSON.stringify({ mode: 'server', access_keys: names });
const many = (count: number) => Array.from({ length: count }, (_, n) => `key-${n}`);

const versionsOf = ({ files }: Staged) => files.list('/var/keyway/versions');
/** They are compressed outside of the time that a test moves. */
const kept = (staging: Staged, count: number) =>
  expect.poll(() => staging.world.pass(10).then(() => versionsOf(staging))).toHaveLength(count);
const readsOf = ({ server }: Staged) => server.calls.filter((call) => call === 'getConfig').length;

describe('the configuration of a server', () => {
  it('is kept on sight, after a change within ten minutes, and every day, and never twice as it is', async () => {
    const staging = await staged({ configuration: configurationOf(['a']) });
    const { world, server, backend } = staging;
    await world.pass(1_000);
    await kept(staging, 1);
    server.configuration = configurationOf(['a', 'b']);
    for (let n = 0; n < 5; n += 1) {
      await world.until(createKey(backend, key(`n${n}`)));
      await world.pass(MINUTE);
    }
    expect([(await versionsOf(staging)).length, readsOf(staging)]).toEqual([1, 1]);
    await world.pass(5 * MINUTE);
    await kept(staging, 2);
    expect(readsOf(staging)).toBe(2);
    await world.pass(23 * 60 * MINUTE);
    expect(readsOf(staging)).toBe(2);
    server.configuration = configurationOf(['a', 'b', 'c']);
    await world.pass(70 * MINUTE);
    await kept(staging, 3);
    await world.pass(DAY + MINUTE);
    await expect.poll(() => world.pass(10).then(() => readsOf(staging))).toBe(4);
    await kept(staging, 3);
    await backend.close();
  });

  it('is kept before a key goes, with the keys that the server has not written yet', async () => {
    const staging = await staged({ configuration: configurationOf(['a']) });
    const { world, server, backend, files } = staging;
    await world.pass(1_000);
    await kept(staging, 1);
    for (const name of ['a', 'b', 'c']) await world.until(createKey(backend, key(name)));
    server.configuration = configurationOf(['a', 'b']);
    await world.until(deleteKey(backend, 'b'));
    await world.until(deleteKey(backend, 'c'));
    const versions = createKeptVersions({ fileSystem: files, folder: '/var/keyway/versions', clock: world.clock });
    const [newest] = (await versions.list()).slice(-1);
    const { keys } = readDocument(await versions.read(newest?.id ?? '')).configuration;
    expect(keys.map(({ accessKey }) => accessKey)).toEqual(['a', 'b', 'c']);
    expect(readsOf(staging)).toBe(2);
    await backend.close();
  });

  it.each([
    ['has lost more than ten keys', configurationOf(['a'])],
    ['cannot be read', 'null'],
  ])('that %s leaves the version before for ever', async (_what, left) => {
    const staging = await staged({ configuration: configurationOf(many(12)) });
    const { world, server, backend } = staging;
    await world.pass(1_000);
    await kept(staging, 1);
    server.configuration = left;
    await world.pass(DAY);
    await expect
      .poll(() => world.pass(MINUTE).then(async () => (await versionsOf(staging)).join()))
      .toContain('forever');
    await backend.close();
  });

  it('that is half-written now and then, and whole a minute later, leaves no version for ever', async () => {
    const staging = await staged({ configuration: configurationOf(many(3)) });
    const { world, server, backend, lines } = staging;
    await world.pass(1_000);
    await kept(staging, 1);
    for (let n = 0; n < 4; n += 1) {
      const whole = configurationOf(many(4 + n));
      server.configuration = whole.slice(0, 20);
      await world.until(createKey(backend, key(`n${n}`)));
      const reads = readsOf(staging);
      while (readsOf(staging) < reads + 3) await world.pass(1_000);
      server.configuration = whole;
      await expect.poll(() => world.pass(MINUTE).then(() => versionsOf(staging))).toHaveLength(2 + n);
    }
    expect((await versionsOf(staging)).join()).not.toContain('forever');
    expect(lines.filter(({ message }) => /lost keys/.test(message))).toEqual([]);
    await backend.close();
  });

  it('that is there and cannot be kept for want of room is not said to have lost keys', async () => {
    const staging = await staged({ configuration: configurationOf(many(3)) });
    const { world, server, backend, files, lines } = staging;
    await world.pass(1_000);
    await kept(staging, 1);
    const { create } = files;
    const full = { create: () => Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' })) };
    Object.assign(files, full);
    server.configuration = configurationOf(many(4));
    await world.until(createKey(backend, key('n')));
    await expect
      .poll(() => world.pass(MINUTE).then(() => lines.filter(({ message }) => /could not be kept/.test(message))))
      .toMatchObject([{ reason: expect.stringContaining('ENOSPC') }]);
    await world.pass(5 * MINUTE);
    expect((await versionsOf(staging)).join()).not.toContain('forever');
    expect(lines.filter(({ message }) => /lost keys/.test(message))).toEqual([]);
    expect(lines.filter(({ message }) => /known of the server cannot be noted/.test(message))).toHaveLength(1);
    Object.assign(files, { create });
    await backend.close();
  });

  it('that cannot be read is a problem that health names, until it can', async () => {
    const staging = await staged({
      configuration: configurationOf(many(3)),
      before: ({ keys }) => keys.set('a', held('a')),
    });
    const { world, server, backend } = staging;
    const broken = async () => (await backend.problems()).map(({ problem }) => problem);
    await world.pass(1_000);
    await kept(staging, 1);
    expect(await broken()).toEqual([]);
    server.configuration = 'null';
    await world.pass(DAY);
    await expect.poll(() => world.pass(MINUTE).then(broken)).toEqual(['upstream_configuration_unreadable']);
    server.configuration = configurationOf(many(3));
    await expect.poll(() => world.pass(MINUTE).then(broken)).toEqual([]);
    await backend.close();
  });

  it('of a server with one session is not worth taking that', async () => {
    const { world, server, backend } = await staged({ revision: 'dns', hasOneSession: true });
    await world.pass(1_000);
    const theirs = server.signsIn();
    await world.pass(3 * DAY);
    expect(server.signsIn()).toBe(`session ${Number(theirs.replace('session ', '')) + 1}`);
    await backend.close();
  });
});

describe('the keys as Keyway knew them last', () => {
  it('are in the data folder within seconds, what is not settled before that, also after a kill', async () => {
    const { world, server, backend, files } = await staged();
    const known = async () => [...(await readKnownKeys(files, '/var/keyway', [])).keys()].sort();
    await world.until(createKey(backend, key('a', 5n, 'Anna')));
    await world.pass(5_000);
    expect(await known()).toEqual(['a']);
    await world.until(createKey(backend, key('b')));
    expect(await known()).toEqual(['a', 'b']);
    await world.until(deleteKey(backend, 'a'));
    expect(await known()).toEqual(['b']);
    // What somebody else has changed, once a list has shown it.
    await world.pass(20_000);
    server.outside({ put: key('theirs', 7n) });
    await world.until(Promise.resolve(backend.replica?.freshen()));
    await world.pass(10_000);
    expect(await known()).toEqual(['b', 'theirs']);
    await backend.close();
  });

  it('stay where a Keyway has come and gone while the server was away', async () => {
    const { world, server, backend, files, again } = await staged();
    await world.until(createKey(backend, key('a')));
    await world.pass(20_000);
    server.becomes('away');
    const second = await again();
    await world.pass(MINUTE);
    await second.close();
    expect([...(await readKnownKeys(files, '/var/keyway', [])).keys()]).toEqual(['a']);
    await backend.close();
  });

  it('are what they were where a key was made while no list could be had', async () => {
    const { world, server, backend, files, again } = await staged();
    await world.until(createKey(backend, key('a')));
    await world.pass(20_000);
    await backend.close();
    Object.assign(server, {
      listUsers: () =>
        Promise.reject(new UpstreamError('upstreamAway', 'no list', { mayHaveHappened: false, retryAfter: 1 })),
    });
    const second = await again();
    await world.until(createKey(second, key('b')));
    await world.pass(60_000);
    await second.close();
    expect([...(await readKnownKeys(files, '/var/keyway', [])).keys()]).toContain('a');
  });

  it('have their names where only the configuration tells them, however long that takes', async () => {
    const named = '{"mode":"server","access_keys":[{"access_key":"a","name":"Anna"}]}';
    const { world, server, backend, files, again } = await staged({
      revision: 'earliest',
      configuration: named,
      before: ({ keys }) => keys.set('a', held('a', null, 'Anna')),
      trip: (call) => ({ there: 1, back: call === 'getConfig' ? 4_000 : 1 }),
    });
    await world.pass(60_000);
    const known = async () => [...(await readKnownKeys(files, '/var/keyway', [])).values()];
    expect(await known()).toEqual([key('a', null, 'Anna')]);
    await backend.close();
    // The next one comes when the server has destroyed its file, which is what the names are kept for.
    server.configuration = 'null';
    const second = await again();
    await world.pass(60_000);
    await second.close();
    expect(await known()).toEqual([key('a', null, 'Anna')]);
  });

  it('and a killed Keyway was writing leave nothing half-written behind for the next', async () => {
    const { backend, files, again } = await staged();
    const left = ['.known-keys.jsonl.keyway-0123456789ab.tmp', '.unsettled.jsonl.keyway-0123456789ab.tmp'];
    for (const name of left) await files.create(`/var/keyway/${name}`, Buffer.from('secret'), 0o600);
    await backend.close();
    const second = await again();
    expect((await files.list('/var/keyway')).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    await second.close();
  });

  it('are put into a kept configuration of either layout, and nothing else of it is changed', () => {
    const known = new Map([key('a', 5n, 'Anna'), key('new')].map((each) => [each.accessKey, each]));
    const flat = withKnownKeys(Buffer.from('{"mode":"server","access_keys":["a","gone"],"other":1.50}'), known);
    expect(flat).toMatchObject({ keys: 2, added: 1, removed: 1 });
    expect(flat.bytes.toString()).toContain('"other": 1.50');
    expect(readDocument(flat.bytes).configuration.keys).toEqual([...known.values()]);
    const inbounds =
      '{"mode":"server","inbounds":[{"protocol":"ostp","users":[{"key":"gone"}]}],"access_keys":["gone"]}';
    const beside = withKnownKeys(Buffer.from(inbounds), known);
    expect(readDocument(beside.bytes).configuration.keys).toEqual([...known.values()]);
    expect(JSON.parse(beside.bytes.toString()).access_keys).toEqual(['a', 'new']);
  });
});
