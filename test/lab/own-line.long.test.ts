import { describe, test } from 'vitest';
import { holdAsOwnLine, SERVERS } from './own-line.js';

describe.each(SERVERS)('the stand-in of %s, asked as its own line', (version) => {
  test.each([[[]], [['--writes']]])('with %j is compatible, and afterwards as it was', (flags) =>
    holdAsOwnLine(version, flags));
});
