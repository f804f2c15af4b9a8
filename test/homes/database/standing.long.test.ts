import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { DatabaseBackend } from '../../../src/homes/database/backend.js';
import { openConnections } from '../../../src/homes/database/connection.js';
import { migrate } from '../../../src/homes/database/schema.js';
import {
  forget,
  LOAD,
  leaveGateway,
  notify,
  seeGateway,
  settle,
  unknownOf,
  WRITES,
} from '../../../src/homes/database/statements.js';
import { createKey, deleteKey, resetKey, updateKey } from '../../ports/key-changes.js';
import { bareDatabase, describeDatabase, freshDatabase, query } from './database.js';
import { openBackend } from './gateways.js';
import { type DatabaseProxy, proxyForTest } from './proxy.js';

const key = (accessKey: string, name: string | null = null) => ({ accessKey, name, limitBytes: null });
const entriesOf = (count: number, prefix = '') =>
  Array.from({ length: count }, (_, n) => ({
    accessKey: `${prefix}${n}`,
    bytesUp: 1n,
    bytesDown: 1n,
    connections: 1n,
  }));
const CONFIGURATION = Buffer.from(
  JSON.stringify({ mode: 'server', access_keys: ['0', '1', '2'], outbound: { enabled: true, rules: [] } }),
);

/** Whatever a gateway says to the database while it serves: a part of its text, and what makes it say it. */
const SAID: readonly (readonly [string, (backend: DatabaseBackend) => unknown])[] = [
  ['create_keys', (backend) => createKey(backend, key('0', 'n'))],
  ['create_keys', (backend) => backend.createBareKeys([key('bare-1'), key('bare-2')])],
  ['update_key', (backend) => updateKey(backend, '0', { limitBytes: 5n })],
  ['reset_key', (backend) => resetKey(backend, '0')],
  ['delete_key', (backend) => deleteKey(backend, '1')],
  ['replace_rules', (backend) => backend.replaceRules([])],
  ['change_dns', (backend) => backend.changeDns({ enabled: true })],
  ['begin_session', (backend) => backend.sessions?.('/api').begin('token')],
  ['add_audit', (backend) => backend.audit?.add({ eventEn: 'e', eventRu: 'r', success: true })],
  ['clear_audit', (backend) => backend.audit?.clear()],
  ['insert into keyway.contents', (backend) => backend.document.replace(CONFIGURATION)],
  ['put_document', (backend) => backend.document.replace(CONFIGURATION)],
  ['keyway.document', (backend) => backend.document.text()],
  ['count_usage', (backend) => backend.count({ id: null, entries: entriesOf(3) }, 'durable')],
  ['count_usage', (backend) => backend.count({ id: null, entries: entriesOf(1) }, 'memory')],
  ['select unknown', (backend) => backend.count({ id: null, entries: entriesOf(5, 'nobody') }, 'durable')],
  ['isolation level repeatable read', (backend) => backend.live?.key('nobody')],
];

/** Changes what the first may have locked; they fail where it holds them up for longer than a write may take. */
async function writeAll(other: DatabaseBackend): Promise<void> {
  await Promise.all([
    createKey(other, key('0', 'other')),
    other.count({ id: null, entries: entriesOf(3) }, 'durable'),
    other.sessions?.('/api').begin('other'),
    other.changeDns({ enabled: false }),
  ]);
}

async function stage() {
  const url = await freshDatabase();
  const proxy = await proxyForTest(url);
  const other = await openBackend(url);
  await other.document.replace(CONFIGURATION);
  return { url, proxy, other, quiet: { pollMilliseconds: 600_000, listens: false } };
}

async function whileStanding(proxy: DatabaseProxy, others: () => Promise<unknown>): Promise<void> {
  await expect.poll(() => proxy.isStanding()).toBe(true);
  await others();
  expect(proxy.isStanding()).toBe(true);
  proxy.goOn();
}

describeDatabase('a gateway that stands still', () => {
  describe.each([
    ['with half of a message sent', 'within'],
    ['before it has read an answer', 'answer'],
  ] as const)('%s', (_, where) => {
    it('holds up no write of another, whatever it was saying, and goes on', async () => {
      const { proxy, other, quiet } = await stage();
      const backend = await openBackend(proxy.url, quiet);
      for (const [text, say] of SAID) {
        proxy.standAround(text, where);
        const said = Promise.resolve(say(backend));
        await whileStanding(proxy, () => writeAll(other));
        await said;
      }
    });

    it('while it loads everything, holds up no write of another', async () => {
      const { proxy, other, quiet } = await stage();
      proxy.standAround(LOAD.fetch, where);
      const opened = openBackend(proxy.url, quiet);
      await whileStanding(proxy, () => writeAll(other));
      expect((await opened).keys.size).toBe(3);
    });

    it('while it does what a gateway does from time to time, holds up no write of another', async () => {
      const { proxy, other } = await stage();
      const connections = openConnections({ url: proxy.url, most: 1 });
      const id = randomUUID();
      for (const text of [
        seeGateway(id),
        forget(0, 0),
        notify(id),
        settle(randomUUID(), { state: 0n, counters: 0n }),
        leaveGateway(id),
      ]) {
        proxy.standAround(text, where);
        const said = connections.run(text, 60_000);
        await whileStanding(proxy, () => writeAll(other));
        await said;
      }
      await connections.close();
    });

    it('while it makes the schema, holds up no start of another', async () => {
      const url = await bareDatabase();
      const proxy = await proxyForTest(url);
      const connections = openConnections({ url: proxy.url, most: 1 });
      proxy.standAround('pg_advisory_xact_lock', where);
      const applied = migrate(connections);
      await whileStanding(proxy, async () => writeAll(await openBackend(url)));
      expect(await applied).toEqual(where === 'within' ? [] : [1, 2, 3]);
      await connections.close();
    });
  });

  it('is answered shortly before a commit, however many keys are unknown and however many reports were counted before', async () => {
    const { url } = await stage();
    const names = Array.from({ length: 3_000 }, (_, n) => `unknown-${n}`);
    const batch = WRITES.countUsage({
      gateway: randomUUID(),
      seen: { state: 0n, countersMark: randomUUID() },
      reportIds: names,
      keys: names,
      incarnations: names.map(() => null),
      up: names.map(() => 1n),
      down: names.map(() => 1n),
      connections: names.map(() => 1n),
    });
    expect(await query(url, batch(randomUUID()))).toEqual([
      { number: '1', outcome: 'done', unknown: 3_000, follows: false },
    ]);
    expect(await query(url, unknownOf(1n))).toEqual([{ unknown: names.map((_, n) => n + 1) }]);
    const { code, message } = await query(url, batch(randomUUID())).catch((error) => error);
    expect(code).toBe('KW002');
    expect(message.split(',')).toHaveLength(1_000);
  });

  it('would hold others up where an answer were longer than what the network holds: the proxy shows such a fault', async () => {
    const { url, proxy, other } = await stage();
    proxy.standAround('repeat', 'answer');
    const long = query(proxy.url, "select keyway.take(gen_random_uuid(), 'state'), repeat('x', 30000000)");
    const lock = () => query(url, "select from keyway.heads where name = 'state' for update nowait");
    await expect.poll(() => lock().catch(({ code }) => code)).toBe('55P03');
    let isDone = false;
    const written = createKey(other, key('late')).then(() => {
      isDone = true;
    });
    await pause(300);
    expect(isDone).toBe(false);
    proxy.goOn();
    await Promise.all([long, written]);
  });
});
