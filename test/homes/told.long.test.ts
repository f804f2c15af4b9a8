import { it } from 'vitest';
import { tries } from '../tries.js';
import { describeDatabase, freshDatabase } from './database/database.js';
import { fragileDatabase } from './database/fragile-database.js';
import { fragileFile } from './file/fragile-file.js';
import { expectTold } from './told.js';
import './told.test.js';
import { fragileFront } from './upstream/fragile-front.js';

const MINUTES = 5 * 60_000;
const TIME = 240_000;
const TITLE = 'what is called done, and nothing that is called not made, is there after many faults and kills';

it(`over a file ${TITLE}`, () => expectTold(fragileFile, tries(400), TIME), MINUTES);

it.each(['earliest', 'current', '0.3.7', '0.4.7'])(
  `in front of a server of %s ${TITLE}`,
  (revision) => expectTold(() => fragileFront(revision), tries(150), TIME),
  MINUTES,
);

describeDatabase('over PostgreSQL', () => {
  it(
    TITLE,
    async () => {
      const url = await freshDatabase();
      await expectTold(() => fragileDatabase(url), tries(30), TIME);
    },
    MINUTES,
  );
});
