import type { ToldApart } from '../embedded/told-apart.js';
import { markdownTable } from '../settings/text.js';

/**
 * The table of `docs/replay-ci.md`: a server of each line held against each line's record by reads alone, with the number of
 * rules and operations that differ.
 */
export function toldApartTable(told: readonly ToldApart[]): string {
  return markdownTable(['server, asked as', ...told.map(({ server }) => server.id)], told.map(rowOf));
}

function rowOf({ server, by }: ToldApart): readonly string[] {
  const cells = by.map(({ revision, findings, fits }) => {
    if (revision === server) return 'fits';
    return fits ? '**fits**' : `${findings.filter(({ outcome }) => outcome === 'differs').length}`;
  });
  return [`**${server.id}**`, ...cells];
}
