import { expect, it, onTestFinished } from 'vitest';
import { createKeyRegistry } from '../../src/core/keys/registry.js';
import { type Connections, openConnections } from '../../src/database/connection.js';
import { startFollower } from '../../src/database/follower.js';
import { createReplica } from '../../src/database/replica.js';
import { systemClock } from '../../src/platform/system-ports.js';
import { describeDatabase, freshDatabase, query } from './database.js';
import { key, openBackend, report } from './gateways.js';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** A gateway that writes, and a follower that looks when it is asked to. */
async function stage() {
  const url = await freshDatabase();
  const writer = await openBackend(url);
  const connections = openConnections({ url, most: 4 });
  onTestFinished(() => connections.close());
  const keys = createKeyRegistry(systemClock.now);
  let held: Promise<void> | null = null;
  const run: Connections['run'] = async (text, deadline) => {
    const until = held;
    held = null;
    const answers = await connections.run(text, deadline);
    await until;
    return answers;
  };
  const follower = await startFollower({
    connections: { ...connections, run },
    replica: createReplica(keys),
    followed: { settings() {}, audit() {}, sessions() {} },
    clock: systemClock,
    jitter: (milliseconds) => milliseconds,
    log: silent,
    pollMilliseconds: 600_000,
  });
  onTestFinished(() => follower.stop());
  /** The answer of the next look comes once this is called. */
  const holdNext = () => {
    let release = () => {};
    held = new Promise((resolve) => {
      release = resolve;
    });
    return release;
  };
  return { url, writer, keys, follower, holdNext };
}

describeDatabase('a follower', () => {
  it('reads everything anew where a batch is lost of which it has seen the connections alone', async () => {
    const { url, writer, keys, follower } = await stage();
    await writer.createKey(key('a'));
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
  });

  it('keeps what was counted of a key where an older look, in which it had no counters, is answered later', async () => {
    const { writer, keys, follower, holdNext } = await stage();
    await writer.createBareKeys([key('a')]);
    const release = holdNext();
    const looked = follower.fresh('connections');
    await expect.poll(() => follower.status().looks).toBe(1);
    await writer.count(report(null, 'a', 5n), 'durable');
    await follower.fresh('all');
    expect(keys.get('a')?.counters).toMatchObject({ bytesUp: 5n });
    release();
    await looked;
    expect(keys.get('a')?.counters).toMatchObject({ bytesUp: 5n });
  });
});
