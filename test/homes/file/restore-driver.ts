import { piecesOf } from '../../../src/files/file-pieces.js';
import { openLocalBackend } from '../../../src/homes/file/backend.js';
import { createFileSystem } from '../../../src/platform/file-system.js';
import { systemClock } from '../../../src/platform/system-ports.js';

/** Restores a backup while it serves, and is killed at the call of the file system that is named, on a path that ends so. */
const [configPath = '', backup = '', call = '', end = ''] = process.argv.slice(2);
const silent = { debug() {}, info() {}, warn() {}, error() {} };
const real = createFileSystem();
let isRestoring = false;

const killing =
  (name: 'rename' | 'append' | 'remove', at: number) =>
  async (...given: readonly never[]) => {
    if (isRestoring && name === call && new RegExp(end).test(String(given[at]))) process.kill(process.pid, 'SIGKILL');
    return Reflect.apply(real[name], real, given);
  };

const backend = await openLocalBackend({
  configPath,
  fileSystem: { ...real, rename: killing('rename', 1), append: killing('append', 0), remove: killing('remove', 0) },
  clock: systemClock,
  log: silent,
});
await backend.counters.store?.flush();
isRestoring = true;
await backend.replacements.restore(piecesOf(real, backup));
process.stdout.write('restored\n');
