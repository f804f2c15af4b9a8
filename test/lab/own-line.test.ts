import { test } from 'vitest';
import { holdAsOwnLine } from './own-line.js';

// Every server that was recorded stands in own-line.long.test.ts.
test.each([
  ['0.2.48', []],
  ['0.4.7', ['--writes']],
])('the stand-in of %s, asked as its own line with %j, is compatible, and afterwards as it was', holdAsOwnLine);
