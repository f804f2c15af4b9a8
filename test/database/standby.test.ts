import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { postgresBinaries, startPostgres } from '../../bench/postgres.js';
import { openDatabaseBackend } from '../../src/database/backend.js';
import { systemClock, systemRandom } from '../../src/platform/system-ports.js';
import { describeDatabase } from './database.js';

describeDatabase('a database that is a standby', () => {
  it('is refused at the start, with words for it', async ({ skip }) => {
    const binaries = await postgresBinaries();
    if (binaries === null) return skip('it is made of the PostgreSQL that npm installs');
    const postgres = await startPostgres(binaries, ['fsync=off', 'wal_level=replica']);
    onTestFinished(() => postgres.remove());
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const open = () => openDatabaseBackend({ url: postgres.url(), clock: systemClock, random: systemRandom, log });
    await (await open()).close();
    await postgres.stop('in order');
    await writeFile(join(postgres.folder, 'standby.signal'), '');
    await postgres.start();
    await expect(open()).rejects.toThrow('the database is a standby');
  });
});
