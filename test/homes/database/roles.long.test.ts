import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openConnections } from '../../../src/homes/database/connection.js';
import { arraysOf } from '../../../src/homes/database/key-columns.js';
import {
  DOCUMENT,
  FORGET_COUNTED,
  forget,
  forgetVersions,
  HEADS,
  HOLD_CHANGES,
  IMPORT_STATE,
  INSERT_CONTENT,
  LOAD,
  leaveGateway,
  notify,
  putCounters,
  rememberReports,
  SERVER_SETTINGS,
  SNAPSHOT,
  seeGateway,
  settle,
  unknownOf,
  VERSIONS,
  versionContent,
  WRITES,
} from '../../../src/homes/database/statements.js';
import { ROOT } from '../../clone.js';
import { runHere } from '../../commands/context.js';
import { folderForTest } from '../../folder-for-test.js';
import { createKey, deleteKey, resetKey, updateKey } from '../../ports/key-changes.js';
import { describeDatabase, dropDatabase, query, sharedPostgres } from './database.js';
import { openBackend, seesAll } from './gateways.js';

/** The statements of the page, without comments. */
async function grantsOfThePage(role: string): Promise<readonly string[]> {
  const [, block = ''] = /```sql\n([^`]+)```/.exec(await readFile(join(ROOT, 'docs/database.md'), 'utf8')) ?? [];
  const text = block.replaceAll(/^--.*$/gm, '').replaceAll(/\bto gateway\b/g, `to ${role}`);
  return text.split(';').flatMap((statement) => (statement.trim() === '' ? [] : [statement.trim()]));
}

/** A database whose owner has made the schema, and another role that may nothing. */
async function stage() {
  const { url: admin } = await sharedPostgres();
  const [owner, role, name] = ['owner', 'role', 'database'].map(
    (each) => `${each}_${randomUUID().replaceAll('-', '')}`,
  );
  const urlOf = (user: string | undefined) => {
    const url = new URL(admin);
    url.username = user ?? '';
    url.password = 'secret';
    url.pathname = `/${name}`;
    return url.href;
  };
  for (const each of [owner, role]) await query(admin, `create role ${each} login password 'secret'`);
  await query(admin, `create database ${name} owner ${owner}`);
  onTestFinished(async () => {
    await dropDatabase(urlOf(owner));
    for (const each of [owner, role]) await query(admin, `drop role ${each}`);
  });
  const migrated = await runHere(['database', 'migrate'], {
    folder: ROOT,
    environment: { KEYWAY_DATABASE_URL: urlOf(owner) },
  });
  expect(migrated).toMatchObject({ code: 0, output: expect.stringContaining('brought up to version') });
  return { owner: urlOf(owner), gateway: urlOf(role), role: role ?? '' };
}

const key = (accessKey: string, name: string | null = null) => ({ accessKey, name, limitBytes: null });
const entries = [{ accessKey: 'a', bytesUp: 1n, bytesDown: 2n, connections: 1n }];

/** Everything that gateways do with a database. */
async function doEverything(url: string): Promise<void> {
  const [one, other] = [await openBackend(url, { migrates: false }), await openBackend(url, { migrates: false })];
  await createKey(one, key('a', 'n'));
  await one.createBareKeys([key('b'), key('c')]);
  await other.count({ id: 'r', entries }, 'durable');
  expect(await one.count({ id: 'r', entries }, 'durable')).toMatchObject({ repeated: true });
  const unknown = entries.map((entry) => ({ ...entry, accessKey: 'x' }));
  expect(await one.count({ id: null, entries: unknown }, 'durable')).toMatchObject({ unknownKeys: ['x'] });
  await updateKey(one, 'b', { limitBytes: 1n });
  await resetKey(one, 'a');
  await deleteKey(one, 'c');
  await one.document.put(Buffer.from('{"mode":"server","access_keys":["a"],"outbound":{"enabled":true,"rules":[]}}'));
  await one.replaceRules([]);
  await one.changeDns({ enabled: true });
  const { id } = (await one.document.versions.list())[0] ?? { id: '' };
  await other.document.restore(id);
  await one.sessions?.('/api').begin('token');
  await one.audit?.add({ eventEn: 'e', eventRu: 'r', success: true });
  await one.audit?.clear();
  await expect.poll(() => other.status().isListening).toBe(true);
  await createKey(one, key('late'));
  await expect.poll(() => other.keys.get('late')?.accessKey).toBe('late');
  await seesAll(other);
  expect(await one.document.text()).toEqual(await other.document.text());
}

/** All that gateways say to a database that is as it was made, undone at its end: rights are asked for whatever it holds. */
const EVERYTHING = everything().join(';\n');

function everything(): readonly string[] {
  const [id, content] = [randomUUID(), randomUUID()];
  const usage = { incarnations: [null], up: [1n], down: [1n], connections: [1n] };
  const entry = { id: '1', time: '', eventEn: '', eventRu: '', success: true };
  const counters = { accessKey: 'a', bytesUp: 1n, bytesDown: 1n, connections: 1n, createdAt: 0, leftAt: null };
  const version = { id: 'v', content, forever: false };
  const put = { expected: 0n, content, settings: {}, keys: arraysOf([key('a')]), version };
  const writes = [
    WRITES.putDocument(put),
    WRITES.createKeys([key('b')], true),
    WRITES.updateKey('b', { limitBytes: 1n }),
    WRITES.resetKey('b'),
    WRITES.deleteKey('b'),
    WRITES.replaceRules([]),
    WRITES.changeDns({}),
    WRITES.beginSession('/api', Buffer.alloc(32)),
    WRITES.addAudit(entry),
    WRITES.clearAudit(),
    WRITES.changeRecords([{ kind: 'tokens', id: 'kept', body: '{}' }]),
    WRITES.countUsage({ gateway: id, seen: { state: 0n, countersMark: id }, reportIds: ['r'], keys: ['a'], ...usage }),
  ];
  return [
    'begin',
    INSERT_CONTENT.replace('$1', `'${content}'`).replace('$2', "''"),
    ...writes.map((write) => write(randomUUID())),
    settle(randomUUID(), { state: 0n, counters: 0n }),
    HEADS,
    ...Object.values(LOAD)
      .map((text) => (typeof text === 'string' ? text : text(null)))
      .filter((text) => !/^(?:begin|fetch|commit)/.test(text)),
    ...[unknownOf(1n), DOCUMENT, VERSIONS, versionContent('v'), forgetVersions(['v'])],
    ...[seeGateway(id), leaveGateway(id), notify(id), forget(1, 1)],
    ...[HOLD_CHANGES, IMPORT_STATE, FORGET_COUNTED, putCounters(1n, id, [counters]), rememberReports(['r2'])],
    ...[SNAPSHOT.changed(['a'], 0n), SNAPSHOT.declareRegistered(0n), SNAPSHOT.declareCounters, SNAPSHOT.reports],
    SERVER_SETTINGS,
    'rollback',
  ];
}

/** As once a minute, with much that has become old. */
async function forgetOld(owner: string, gateway: string): Promise<void> {
  const old = "clock_timestamp() - interval '40 days'";
  for (const table of ['operations', 'batches', 'contents'])
    await query(owner, `update keyway.${table} set at = ${old}`);
  await query(owner, `update keyway.gateways set seen_at = ${old}`);
  await query(owner, `update keyway.counters set left_at = ${old} where access_key = 'b'`);
  const connections = openConnections({ url: gateway, most: 1 });
  try {
    await connections.run(forget(0, 86_400_000), 10_000);
  } finally {
    await connections.close();
  }
  expect(await query(owner, 'select from keyway.reports')).toEqual([]);
  expect(await query(owner, 'select from keyway.keys where removed')).toEqual([]);
}

describeDatabase('a gateway whose role has the rights that the page gives it', () => {
  it('does everything that gateways do, takes a state over and gives it back, and creates nothing', async () => {
    const { owner, gateway, role } = await stage();
    for (const grant of await grantsOfThePage(role)) await query(owner, grant);
    await doEverything(gateway);
    await forgetOld(owner, gateway);

    const folder = await folderForTest();
    const run = (...argv: string[]) =>
      runHere(['database', ...argv], { folder, environment: { KEYWAY_DATABASE_URL: gateway } });
    await writeFile(join(folder, 'from.jsonc'), '{"mode":"server","access_keys":["z"]}');
    expect(await run('import', '--config', 'from.jsonc', '--replace')).toMatchObject({ code: 0, complaints: '' });
    expect(await run('export', '--config', 'back.jsonc')).toMatchObject({ code: 0, complaints: '' });
    expect(await run('migrate')).toMatchObject({ code: 0, output: expect.stringContaining('nothing to do') });

    for (const statement of ['create table keyway.own (n integer)', 'create schema own', 'drop table keyway.keys'])
      await expect(query(gateway, statement)).rejects.toMatchObject({ code: '42501' });
    await expect(query(gateway, 'update keyway.schema_versions set serves_from = 99')).rejects.toMatchObject({
      code: '42501',
    });
  });

  it('could not do without any of them', async () => {
    const { owner, gateway, role } = await stage();
    for (const grant of await grantsOfThePage(role)) await query(owner, grant);
    await query(gateway, EVERYTHING);
    const rights = await query(
      owner,
      `select table_name, privilege_type from information_schema.role_table_grants where grantee = '${role}'`,
    );
    expect(rights.length).toBeGreaterThan(40);
    const missed = [];
    for (const { table_name: table, privilege_type: right } of rights) {
      await query(owner, `revoke ${right} on keyway.${table} from ${role}`);
      const error = await query(gateway, EVERYTHING).catch(({ code }) => code);
      if (error !== '42501') missed.push(`${right} on ${table}`);
      await query(owner, `grant ${right} on keyway.${table} to ${role}`);
    }
    expect(missed).toEqual([]);
  });
});
