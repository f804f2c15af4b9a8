import { createConfigurationFile } from '../../../src/homes/file/configuration/configuration-file.js';
import { createFileSystem } from '../../../src/platform/file-system.js';
import { systemClock } from '../../../src/platform/system-ports.js';

/** Saves keys as fast as it goes, two at a time, and says each one on stdout once it is acknowledged; until it is killed. */
const [path = '', dataFolder = '', prefix = '', way = ''] = process.argv.slice(2);
const silent = { debug() {}, info() {}, warn() {}, error() {} };

const file = await createConfigurationFile({
  path,
  dataFolder,
  fileSystem: createFileSystem(),
  clock: systemClock,
  log: silent,
  inPlace: way === 'in-place',
});

async function saveOne(accessKey: string): Promise<void> {
  await file.save({ keys: new Map([[accessKey, { accessKey, name: null, limitBytes: null }]]) });
  process.stdout.write(`${accessKey}\n`);
}

for (let n = 0; ; n++) await Promise.all([saveOne(`${prefix}-${n}-a`), saveOne(`${prefix}-${n}-b`)]);
