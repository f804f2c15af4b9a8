import { describe, expect, it } from 'vitest';
import { readDocument } from '../../../src/local/document/document.js';
import { withKnownKeys } from '../../../src/local/document/known-keys.js';
import { readKnownKeys } from '../../../src/southbound/state/known-keys.js';
import { key, type Staged, staged } from '../staged.js';

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
      await world.until(backend.createKey(key(`n${n}`)));
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

  it.each([
    ['has lost more than ten keys', configurationOf(['a'])],
    ['cannot be read', 'null'],
  ])('that %s leaves the version before for ever', async (_what, left) => {
    const staging = await staged({ configuration: configurationOf(many(12)) });
    const { world, server, backend } = staging;
    await world.pass(1_000);
    await kept(staging, 1);
    server.configuration = left;
    await world.pass(DAY + MINUTE);
    await expect.poll(() => world.pass(10).then(async () => (await versionsOf(staging)).join())).toContain('forever');
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
    await world.until(backend.createKey(key('a', 5n, 'Anna')));
    await world.pass(5_000);
    expect(await known()).toEqual(['a']);
    await world.until(backend.createKey(key('b')));
    expect(await known()).toEqual(['a', 'b']);
    await world.until(backend.deleteKey('a'));
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
    await world.until(backend.createKey(key('a')));
    await world.pass(20_000);
    server.becomes('away');
    const second = await again();
    await world.pass(MINUTE);
    await second.close();
    expect([...(await readKnownKeys(files, '/var/keyway', [])).keys()]).toEqual(['a']);
    await backend.close();
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
