// `npm run matrix`: plays every scenario of every revision on a Keyway in front of every line, prints what came of each cell and
// each loss, and writes the table of cells into docs/upstream.md. Exit code 1 where anything differs that no loss says.
import { spawn } from 'node:child_process';

const argv = [
  'vitest',
  'run',
  '--configLoader',
  'runner',
  'test/homes/upstream/matrix.test.ts',
  '--disable-console-intercept',
];
const child = spawn('npx', argv, { env: { ...process.env, MATRIX: 'all' }, stdio: 'inherit' });
child.on('close', (code) => process.exit(code ?? 1));
