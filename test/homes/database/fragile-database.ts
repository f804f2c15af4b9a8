import { expect } from 'vitest';
import type { DatabaseBackend } from '../../../src/homes/database/backend.js';
import type { FragileHome } from '../told.js';
import { query } from './database.js';
import { openBackend, seesAll } from './gateways.js';
import { type DatabaseProxy, proxyForTest } from './proxy.js';

const EMPTY = Buffer.from('{ "mode": "server", "access_keys": [] }');

/** A database to which connections and answers are lost. It is emptied first. */
export async function fragileDatabase(url: string): Promise<FragileHome> {
  let proxy: DatabaseProxy = await proxyForTest(url);
  let backend: DatabaseBackend = await openBackend(proxy.url);
  await backend.document.replace(EMPTY);

  /** The database does what it has got of a process that is gone. */
  const isQuiet = () =>
    expect
      .poll(() =>
        query(
          url,
          "select from pg_stat_activity where state = 'active' and datname = current_database() and pid <> pg_backend_pid()",
        ),
      )
      .toEqual([]);

  return {
    backend: () => backend,
    goesWrong(which) {
      if (which % 4 === 0) proxy.refuse(true);
      else if (which % 4 === 1) proxy.cut();
      else proxy.cutAround('keyway.', which % 4 === 2 ? 'before' : 'after');
    },
    heal: () => proxy.refuse(false),
    async kill() {
      proxy.refuse(true);
      void backend.close();
      await isQuiet();
      proxy = await proxyForTest(url);
      backend = await openBackend(proxy.url);
    },
    async killWithin(step, work) {
      const done = work().then(() => 'done' as const);
      if (step === null) return done;
      done.catch(() => undefined);
      const mine = proxy;
      const killed = new Promise<'killed'>((resolve) => {
        const turn = (left: number): void => {
          if (left > 0) setImmediate(turn, left - 1);
          else {
            mine.refuse(true);
            resolve('killed');
          }
        };
        turn(step);
      });
      return Promise.race([done, killed]);
    },
    async kept() {
      await seesAll(backend);
      return [...backend.keys.entries()];
    },
    async leave() {
      await backend.close();
      await proxy.close();
    },
  };
}
