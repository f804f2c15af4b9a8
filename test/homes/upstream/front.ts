import { createGateway } from '../../../src/index.js';
import { createFileSystem } from '../../../src/platform/file-system.js';
import { createFastClock, createFastTimers } from './fast-time.js';
import { openFrontBackend } from './open-front.js';

/** A Keyway in front of the server at a URL, its time so many times faster; says its origin on stdout once it listens. */
const [url = '', dataFolder = '', factor = '1', callFactor = '1'] = process.argv.slice(2);
const write = (level: string) => (fields: object, message: string) => {
  process.stderr.write(`${JSON.stringify({ level, message, ...fields })}\n`);
};
const clock = createFastClock(Number(factor));
const backend = await openFrontBackend({
  url,
  clock,
  dataFolder,
  callFactor: Number(callFactor),
  timers: createFastTimers(Number(factor)),
  fileSystem: createFileSystem(),
  credentials: { token: 'static-token-1', operator: { username: 'admin', password: 'password' } },
  log: { debug() {}, info: write('info'), warn: write('warn'), error: write('error') },
});
const app = await createGateway({
  mounts: [{ revision: 'current' }],
  backend,
  clock,
  listener: { token: 'front-token' },
  loginGuard: 'off',
});
process.stdout.write(`${await app.listen({ host: '127.0.0.1', port: 0 })}\n`);
