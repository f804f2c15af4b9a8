import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Postgres, postgresBinaries, startPostgres } from '../../../bench/postgres.js';
import type { LogPort } from '../../../src/core/ports.js';
import { openDatabaseBackend } from '../../../src/homes/database/backend.js';
import { systemClock, systemRandom } from '../../../src/platform/system-ports.js';
import { freePort } from '../../free-ports.js';
import { createKey } from '../../ports/key-changes.js';
import { describeDatabase, query } from './database.js';
import { key, openBackend, report, seesAll, silent } from './gateways.js';
import { proxyForTest } from './proxy.js';

const binaries = await postgresBinaries();
const LOST = 'the database has lost writes that it had, or is another one: everything is read again';

/** A primary that is followed by a standby, both real; gateways reach the one that the proxy leads to. */
async function primaryAndStandby(replication: 'synchronous' | 'asynchronous') {
  if (binaries === null) throw new Error('no PostgreSQL');
  const settings = ['fsync=off', 'wal_retrieve_retry_interval=50ms'];
  const primary = await startPostgres(binaries, settings, { port: await freePort() });
  onTestFinished(() => primary.remove());
  await query(primary.url(), 'create database keyway');
  await primary.stop('in order');
  const standby = await startPostgres(binaries, settings, { primary, port: await freePort() });
  onTestFinished(() => standby.remove());
  await primary.start();
  await expect
    .poll(() => query(primary.url(), 'select state from pg_stat_replication'))
    .toEqual([{ state: 'streaming' }]);
  if (replication === 'synchronous') await set(primary, "synchronous_standby_names = '*'");
  const proxy = await proxyForTest(primary.url('keyway'));
  return { primary, standby, proxy };
}

async function set(postgres: Postgres, setting: string): Promise<void> {
  await query(postgres.url(), `alter system set ${setting}`);
  await query(postgres.url(), 'select pg_reload_conf()');
  const [name = '', value = ''] = setting.split(' = ');
  await expect.poll(() => query(postgres.url(), `show ${name}`)).toEqual([{ [name]: value.replaceAll("'", '') }]);
}

describe.skipIf(binaries === null)('a standby (skipped where npm has no PostgreSQL to make one of)', () => {
  describeDatabase('that takes over', () => {
    it('has all that was acknowledged, where it was waited for, and gateways go on with it by themselves', async () => {
      const { primary, standby, proxy } = await primaryAndStandby('synchronous');
      const lines: string[] = [];
      const write = (_fields: unknown, message: string) => void lines.push(message);
      const log: LogPort = { debug() {}, info: write, warn: write, error: write };
      const gateways = [await openBackend(proxy.url, { log }), await openBackend(proxy.url, { log })] as const;
      await createKey(gateways[0], key('counted'));
      await Promise.all(gateways.map(seesAll));

      const made: string[] = [];
      let bytes = 0n;
      let isOver = false;
      const clients = gateways.flatMap((gateway, at) =>
        [1, 2, 3].map(async (client) => {
          for (let n = 0; !isOver; n += 1) {
            const id = `${at}-${client}-${n}`;
            await createKey(gateway, key(id)).then(() => made.push(id), refused);
            // Told again until it is acknowledged, as a relay does: it counts once.
            while (!(await gateway.count(report(id, 'counted', 1n), 'durable').then(() => true, refused)));
            bytes += 1n;
          }
        }),
      );
      await expect.poll(() => made.length).toBeGreaterThan(60);
      // As when its machine is lost: what its processes do after the first of them is gone, nobody sees.
      proxy.refuse(true);
      await primary.stop('kill');
      proxy.leadTo(standby.url('keyway'));
      proxy.refuse(false);
      const problems = async () => Promise.all(gateways.map(async (gateway) => (await gateway.problems()).length));
      await expect.poll(problems).toEqual([1, 1]);
      const before = made.length;
      await query(standby.url('keyway'), 'select pg_promote()');
      await expect.poll(problems).toEqual([0, 0]);
      await expect.poll(() => made.length).toBeGreaterThan(before + 20);
      isOver = true;
      await Promise.all(clients);

      await Promise.all(gateways.map(seesAll));
      for (const { keys } of gateways) {
        expect(made.filter((id) => keys.get(id) === undefined)).toEqual([]);
        expect(keys.get('counted')?.counters?.bytesUp).toBe(bytes);
      }
      expect(lines).not.toContain(LOST);
    });

    it('is refused until then; without what it had not been given, has gateways say so and show what it holds', async () => {
      const { primary, standby, proxy } = await primaryAndStandby('asynchronous');
      const isRefused = async () => {
        const url = standby.url('keyway');
        const opening = openDatabaseBackend({ url, clock: systemClock, random: systemRandom, log: silent });
        await expect(opening).rejects.toThrow('the database is a standby');
      };
      await isRefused();
      const lines: string[] = [];
      const log: LogPort = { ...silent, warn: (_fields, message) => void lines.push(message) };
      const gateway = await openBackend(proxy.url, { log });
      await createKey(gateway, key('given'));
      const [at] = await query(primary.url(), 'select pg_current_wal_lsn() as lsn');
      const given = `select pg_last_wal_replay_lsn() >= '${String(at?.lsn)}' as is_given`;
      await expect.poll(() => query(standby.url(), given)).toEqual([{ is_given: true }]);
      await isRefused();
      await set(standby, "primary_conninfo = ''");
      await createKey(gateway, key('lost'));
      await primary.stop('kill');
      await query(standby.url('keyway'), 'select pg_promote()');
      proxy.leadTo(standby.url('keyway'));
      await expect.poll(() => lines).toContain(LOST);
      const shown = () => [...gateway.keys.ordered()].map(({ accessKey }) => accessKey);
      await expect.poll(shown).toEqual(['given']);
      await createKey(gateway, key('after'));
      expect(shown()).toEqual(['given', 'after']);
    });
  });
});

/** What is refused is not tried again in the same breath. */
const refused = () => pause(5, false as const);
