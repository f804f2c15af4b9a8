import { expect, it, onTestFinished } from 'vitest';
import { KeyRegistry } from '../../../src/core/keys/registry.js';
import { type Connections, openConnections } from '../../../src/homes/database/connection.js';
import { Follower } from '../../../src/homes/database/follower.js';
import { createReplica } from '../../../src/homes/database/replica.js';
import { changesSince, forget } from '../../../src/homes/database/statements.js';
import { systemClock } from '../../../src/platform/system-ports.js';
import { createKey } from '../../ports/key-changes.js';
import { describeDatabases, freshDatabase, query } from './database.js';
import { key, openBackend, report, silent } from './gateways.js';

const LOST = 'the database has lost writes that it had, or is another one: everything is read again';
const ALL_READ = 'everything was read again from the database';

/** A gateway that writes, and a follower that looks when it is asked to. */
async function stage() {
  const url = await freshDatabase();
  const writer = await openBackend(url);
  const connections = openConnections({ url, most: 4 });
  onTestFinished(() => connections.close());
  const keys = new KeyRegistry(systemClock.now);
  let held: { readonly text: string; readonly until: Promise<void> } | null = null;
  let isHeld = false;
  const said: string[] = [];
  const run: Connections['run'] = async (text, deadline) => {
    const holding = held !== null && text.includes(held.text) ? held : null;
    if (holding !== null) held = null;
    const answers = await connections.run(text, deadline);
    isHeld ||= holding !== null;
    await holding?.until;
    return answers;
  };
  const follower = new Follower({
    connections: { ...connections, run },
    gateway: '',
    replica: createReplica(keys, { recordChanged() {}, placeChanged() {}, allChanged() {} }),
    followed: { settings() {}, audit() {}, sessions() {}, records() {} },
    clock: systemClock,
    jitter: (milliseconds) => milliseconds,
    log: { ...silent, info: (_, words) => said.push(words), warn: (_, words) => said.push(words) },
    pollMilliseconds: 600_000,
  });
  await follower.start();
  onTestFinished(() => follower.stop());
  /** The answer to what contains this text next comes once this is called. */
  const holdNext = (text: string) => {
    let release = () => {};
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    held = { text, until };
    return release;
  };
  return { url, writer, keys, follower, said, holdNext, isHeld: () => isHeld };
}

describeDatabases('a follower', () => {
  it('reads everything anew where a batch is lost of which it has seen the connections alone', async () => {
    const { url, writer, keys, follower, said } = await stage();
    await createKey(writer, key('a'));
    await writer.count(report(null, 'a', 1n, 3n), 'durable');
    await follower.fresh('all');
    await writer.count(report(null, 'a', 1n, 4n), 'durable');
    await follower.fresh('connections');
    expect(keys.get('a')?.counters).toMatchObject({ bytesUp: 1n, connections: 4n });
    await query(url, "update keyway.heads set number = 1 where name = 'counters'");
    await query(url, "delete from keyway.operations where head = 'counters' and number = 2");
    await query(url, 'delete from keyway.batches where number = 2');
    await query(url, 'update keyway.connections set value = 3');
    await follower.fresh('state');
    expect(follower.status().reloads).toBe(1);
    expect(keys.get('a')?.counters?.connections).toBe(3n);
    expect(said).toEqual([LOST, ALL_READ]);
  });

  it.each([
    ['batches', 'batches', '10 minutes'],
    ['writes', 'operations', '2 hours'],
  ])('reads everything anew, and tells of no loss, where so much time went by that %s are forgotten', async (_, table, time) => {
    const { url, writer, keys, follower, said } = await stage();
    for (const bytes of [1n, 2n, 3n]) {
      await createKey(writer, key('a'));
      await writer.count(report(null, 'a', bytes), 'durable');
    }
    await query(url, `update keyway.${table} set at = at - interval '${time}'`);
    await query(url, forget(100, 0));
    await follower.fresh('all');
    expect(keys.get('a')?.counters?.bytesUp).toBe(3n);
    expect(said).toEqual([ALL_READ]);
  });

  it('reads everything anew, and says so, where another database has more writes than it has seen', async () => {
    const { url, writer, keys, follower, said } = await stage();
    for (const name of ['a', 'b', 'c']) await createKey(writer, key(name));
    await query(url, "update keyway.operations set at = at - interval '2 hours'");
    await query(url, forget(100, 0));
    await query(url, 'update keyway.identity set id = gen_random_uuid()');
    await follower.fresh('state');
    expect(keys.size).toBe(3);
    expect(said).toEqual([LOST, ALL_READ]);
  });

  it('tells of a loss in what it reads anew for another reason, and asks a look for nothing of it', async () => {
    const { url, writer, follower, said, holdNext, isHeld } = await stage();
    await createKey(writer, key('a'));
    await writer.count(report(null, 'a', 1n), 'durable');
    await follower.fresh('all');
    await query(url, 'delete from keyway.gateways');
    const release = holdNext('repeatable read');
    const looked = follower.fresh('all');
    await expect.poll(isHeld).toBe(true);
    await query(url, "update keyway.operations set id = gen_random_uuid() where head = 'counters' and number = 1");
    release();
    await looked;
    expect(said).toEqual([LOST, ALL_READ]);
    expect(changesSince(follower.status().seen, 'all')).not.toContain('min(');
  });

  it('keeps newer connections where those of a gateway that fell silent are answered later', async () => {
    const { url, writer, keys, follower, holdNext, isHeld } = await stage();
    const other = await openBackend(url);
    await createKey(writer, key('a'));
    await writer.count(report(null, 'a', 1n, 1n), 'durable');
    await other.count(report(null, 'a', 1n, 5n), 'durable');
    await follower.fresh('all');
    expect(keys.get('a')?.counters?.connections).toBe(6n);
    await query(
      url,
      `update keyway.gateways set seen_at = seen_at - interval '2 minutes'
        where id in (select gateway from keyway.connections where value = 5)`,
    );
    const release = holdNext('t.gateway = any');
    const looked = follower.fresh('all');
    await expect.poll(isHeld).toBe(true);
    await writer.count(report(null, 'a', 1n, 2n), 'durable');
    await follower.fresh('connections');
    release();
    await looked;
    expect(keys.get('a')?.counters?.connections).toBe(2n);
  });

  it('keeps what was counted of a key where an older look, in which it had no counters, is answered later', async () => {
    const { writer, keys, follower, holdNext, isHeld } = await stage();
    await writer.createBareKeys([key('a')]);
    const release = holdNext('repeatable read');
    const looked = follower.fresh('connections');
    await expect.poll(isHeld).toBe(true);
    await writer.count(report(null, 'a', 5n), 'durable');
    await follower.fresh('all');
    expect(keys.get('a')?.counters).toMatchObject({ bytesUp: 5n });
    release();
    await looked;
    expect(keys.get('a')?.counters).toMatchObject({ bytesUp: 5n });
  });
});
