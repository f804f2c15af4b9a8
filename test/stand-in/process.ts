import { parseArgs } from 'node:util';
import { startStandIn } from './stand-in.js';

/**
 * A stand-in as a process of its own, so that it can be killed:
 * `process.js --line 0.2.48 --file server.jsonc [--port N] [--reload-factor N] [--seed N] [--pause MILLISECONDS]`. It says its
 * origin on stdout once it listens.
 */
const { values } = parseArgs({
  options: {
    line: { type: 'string', default: 'current' },
    file: { type: 'string', default: 'server.jsonc' },
    port: { type: 'string', default: '0' },
    'reload-factor': { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
    pause: { type: 'string', default: '0' },
  },
});

const standIn = await startStandIn({
  line: values.line,
  file: values.file,
  port: Number(values.port),
  reloadFactor: Number(values['reload-factor']),
  seed: Number(values.seed),
  pauseMilliseconds: Number(values.pause),
});
process.stdout.write(`${standIn.origin}\n`);
