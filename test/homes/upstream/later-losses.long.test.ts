import { expect, test } from 'vitest';
import { REVISIONS } from '../../../revisions/all.js';
import { LOSSES, type Loss } from '../../../src/client/losses.js';
import type { Lacking } from '../../stand-in/behaviour.js';
import { LATER_LOSSES, openFront } from './later-losses.js';

/** What mounts of later revisions lose in front of servers that say less, or count otherwise. */
const ROWS = Object.entries(LATER_LOSSES).flatMap(([sentence, places]) =>
  Object.entries(places).map(([place, isThere]) => ({ name: `${place}: ${sentence}`, sentence, place, isThere })),
);

const placeOf = ({ operation, member }: Loss) => `${operation} ${member}`;

const lossOf = ({ sentence, place }: { readonly sentence: string; readonly place: string }) =>
  LOSSES.find((loss) => placeOf(loss) === place && loss.sentence.startsWith(sentence));

test('each is a loss of the list', () => {
  expect(ROWS.filter((row) => lossOf(row) === undefined).map(({ name }) => name)).toEqual([]);
});

/** The builds that report the version of a line, and not all of it; of the others all are alike. */
const buildsOf = ({ earlierBuilds }: (typeof REVISIONS)[number]): readonly (readonly Lacking[])[] =>
  earlierBuilds === undefined ? [[]] : [[], ['endpoint', 'dns', 'sessions', 'counters']];

const LINES = REVISIONS.flatMap((line) =>
  buildsOf(line).map((lacking) => ({ line, lacking, name: lacking.length === 0 ? line.id : `betas of ${line.id}` })),
);

test.each(LINES)('in front of $name, what the list says is lost in later mounts is lost, and nothing else', async ({
  line,
  lacking,
}) => {
  const isBeta = lacking.length > 0;
  // Betas lose what is said of them beside what their line loses.
  const rows = ROWS.filter(({ sentence }) => isBeta === sentence.startsWith('Betas'));
  const expected = rows.filter((row) => lossOf(row)?.of(line) === true).map(({ name }) => name);
  const found: string[] = [];
  const front = await openFront(line, lacking);
  for (const { name, isThere } of rows) if (await isThere(front)) found.push(name);
  expect(found).toEqual(expected);
});
