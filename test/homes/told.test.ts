import { describe, it } from 'vitest';
import { tries } from '../tries.js';
import { someOf } from '../whole.js';
import { describeDatabase, freshDatabase } from './database/database.js';
import { fragileDatabase } from './database/fragile-database.js';
import { fragileFile } from './file/fragile-file.js';
import { expectTold } from './told.js';
import { fragileFront } from './upstream/fragile-front.js';

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
