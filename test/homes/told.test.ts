import { describe, expect, it } from 'vitest';
import { createKey, deleteKey, updateKey } from '../ports/key-changes.js';
import { tries } from '../tries.js';
import { someOf } from '../whole.js';
import { describeDatabase, freshDatabase } from './database/database.js';
import { fragileDatabase } from './database/fragile-database.js';
import { fragileFile } from './file/fragile-file.js';
import { expectTold } from './told.js';
import { fragileFront } from './upstream/fragile-front.js';
import { key } from './upstream/staged.js';

const TITLE = 'is there after faults and a kill where it was called done, and is not where it was called not made';

describe('a change of a key', () => {
  it(`over a file ${TITLE}`, () => expectTold(fragileFile, tries(20)));

  it.each(someOf(['current', '0.3.7'], 1))(`in front of a server of %s ${TITLE}`, (revision) =>
    expectTold(() => fragileFront(revision), tries(15)));

  describeDatabase('over PostgreSQL', () => {
    it(TITLE, async () => {
      const url = await freshDatabase();
      await expectTold(() => fragileDatabase(url), tries(4));
    });
  });
});

describe('a server that goes wrong', () => {
  it.each([
    [0, 'is away', 'upstreamAway'],
    [1, 'takes it in memory alone', 'savedInMemory'],
    [4, 'loses the call', 'upstreamAway'],
  ])('number %i: it %s', async (which, _what, code) => {
    const home = await fragileFront('current');
    const makes = async (work: () => Promise<void>) => home.killWithin(null, work);
    await makes(() => createKey(home.backend(), key('a')));
    for (const work of [
      () => createKey(home.backend(), key('b')),
      () => updateKey(home.backend(), 'a', { limitBytes: 1n }),
      () => deleteKey(home.backend(), 'a'),
    ]) {
      home.goesWrong(which);
      await expect(makes(work)).rejects.toMatchObject({ code });
      home.heal();
    }
    await home.leave();
  });
});
