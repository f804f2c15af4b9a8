import type { LogPort } from '../../../src/core/ports.js';
import { readDocument } from '../../../src/document/document.js';
import { createLocalBackend, type LocalBackend } from '../../../src/homes/file/backend.js';
import { createConfigurationFile } from '../../../src/homes/file/configuration/configuration-file.js';
import { openCounters } from '../../../src/homes/file/counters/open-counters.js';
import { createForgetfulFileSystem } from '../../ports/forgetful-file-system.js';
import type { FragileHome } from '../told.js';

const PATH = '/etc/server/server.json';
const DATA = '/var/lib/keyway';
const log: LogPort = { debug() {}, info() {}, warn() {}, error() {} };
const CALLS = ['create', 'sync', 'rename', 'syncFolder', 'append', 'hardLink'] as const;

/** A file on a disk that fails, and into which somebody writes a mistake. */
export async function fragileFile(): Promise<FragileHome> {
  const disk = createForgetfulFileSystem();
  disk.write(PATH, '{ "mode": "server", "access_keys": [] }');
  let pid = 1;
  let time = 1_000_000;
  let isGone = false;
  const clock = { now: () => time++, monotonic: () => time++ };

  async function open(): Promise<LocalBackend> {
    pid += 1;
    const own = { pid, started: '1' };
    const processes = {
      own: async () => own,
      boot: async () => 'boot',
      find: async (of: number) => (of === own.pid ? own : null),
    };
    const ports = { fileSystem: disk.port, clock, log };
    const place = { path: PATH, dataFolder: DATA, pollMilliseconds: 0, watch: false };
    const file = await createConfigurationFile({ ...ports, ...place, processes, wait: async () => undefined });
    const configuration = { path: PATH, keys: file.load().keys, hold: file.hold };
    const counters = await openCounters({ ...ports, dataFolder: DATA, configuration });
    return createLocalBackend({ ...ports, configuration: file, counters });
  }

  /** Writes the file as it is, without or with its first colon. */
  const edit = (from: string, to: string) => disk.write(PATH, (disk.readText(PATH) ?? '').replace(from, to));
  const heal = () => {
    disk.heal();
    edit('"mode" ', '"mode": ');
  };

  let backend = await open();
  return {
    backend: () => backend,
    goesWrong(which) {
      const call = CALLS[which % (CALLS.length + 1)];
      if (call === undefined) edit('"mode": ', '"mode" ');
      else disk.fail(call, which % 2 === 0 ? 'ENOSPC' : 'EIO', () => true, 1 + (which % 4));
    },
    heal,
    async kill() {
      disk.before(null);
      disk.kill();
      await backend.close().catch(() => undefined);
      heal();
      backend = await open();
    },
    async killWithin(step, work) {
      let left = step ?? Number.POSITIVE_INFINITY;
      isGone = false;
      disk.before(() => {
        if (isGone || left-- > 0) return;
        isGone = true;
        disk.kill();
      });
      try {
        await work();
      } catch (error) {
        // A process that is gone answers nobody.
        if (!isGone) throw error;
      } finally {
        disk.before(null);
      }
      return isGone ? 'killed' : 'done';
    },
    async kept() {
      await backend.close();
      return readDocument(Buffer.from(disk.readText(PATH) ?? '')).configuration.keys;
    },
    leave: () => backend.close(),
  };
}
