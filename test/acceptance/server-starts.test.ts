import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../src/wire/operations.js';
import { tries } from '../tries.js';
import { anySittings, WRITING } from './any-writes.js';
import { anyStarted, expectStarts, RECORDED } from './server-starts.js';

describe('a server that starts from a file', () => {
  it('starts from it after any writes of any mounts, of the own interface and of commands, or the health says why not', async () => {
    await fc.assert(
      fc.asyncProperty(anyStarted, anySittings(RECORDED), ([text, server], sittings) =>
        expectStarts(text, server, sittings),
      ),
      { numRuns: tries(20) },
    );
  });

  it('is held against every operation that may change the file', () => {
    const OTHERS = ['login', 'addAudit', 'clearAudit', 'makeQr', 'testDnsName'];
    const OF_RESOLVER = ['refreshBlocklists', 'clearDnsLog', 'updateDnsLists'];
    const changing = OPERATIONS.filter(({ method }) => method !== 'GET').map(({ name }) => name);
    expect(changing.filter((name) => ![...OTHERS, ...OF_RESOLVER].includes(name)).toSorted()).toEqual(
      WRITING.toSorted(),
    );
  });
});
