import type { Revision } from '../../wire/traits/revision.js';
import { differencesInWords } from '../compare/trait-differences.js';
import { differenceInWords } from '../format/json-difference.js';
import type { Look } from './look.js';
import { API_ROOT_RULE, type Finding } from './rules.js';
import { type LineOf, reportedVersion, type Standing, standingsOf, withTrustedToken } from './standing.js';

/** The lines that may answer at one API root of a server. */
export type Identified = ReturnType<typeof identified>;

/**
 * Finds out by reads alone which lines a server speaks. Returns one result for each API root where it answers, none if
 * it answers at no line's root. `lineOf` returns the line of a server package version.
 */
export async function identify(
  look: Look,
  revisions: readonly Revision[],
  lineOf: LineOf,
): Promise<readonly Identified[]> {
  const found: Identified[] = [];
  for (const apiRoot of new Set(revisions.map((each) => rootOf(each, look)))) {
    const here = revisions.filter((each) => rootOf(each, look) === apiRoot);
    const standings = await standingsOf(await withTrustedToken(look, apiRoot), here);
    if (standings.some(({ findings }) => isMisplaced(findings))) continue;
    const version = await reportedVersion(look, apiRoot);
    found.push(identified(apiRoot, standings, version, version === null ? null : lineOf(version)));
  }
  return found;
}

function isMisplaced(findings: readonly Finding[]): boolean {
  return findings.some(({ rule, outcome }) => rule === API_ROOT_RULE && outcome === 'differs');
}

function rootOf({ root }: Revision, { webpath }: Look): string {
  return root.paths(webpath).api;
}

function identified(
  apiRoot: string,
  standings: readonly Standing[],
  version: string | null,
  reported: Revision | null,
) {
  const all = standings.filter(({ fits }) => fits).map(({ revision }) => revision);
  const isNamed = reported !== null && all.includes(reported);
  const fitting = isNamed ? [reported, ...all.filter((each) => each !== reported)] : all;
  const [first, ...others] = fitting;
  const several = isNamed ? 'likely' : 'unsure';
  const sureness = first === undefined ? 'unknown' : others.length === 0 ? 'certain' : several;
  return {
    apiRoot,
    /** The lines that fit everything that was read, the likeliest first; empty if no known line fits. */
    fitting,
    /** `certain`: one line fits; `likely`: of several the reported version names the first. */
    sureness,
    /** The version in the status; null if it is not shown. */
    version,
    /** The other lines of this API root, and why each is excluded. */
    excluded: standings
      .filter(({ fits }) => !fits)
      .map(({ revision, findings }) => ({ revision, by: because(findings) })),
    /** The traits that would distinguish the fitting lines. */
    untold:
      first === undefined ? [] : others.map((other) => `${other.id}: ${differencesInWords(first, other).join('; ')}`),
  };
}

function because(findings: readonly Finding[]): string {
  const [first] = findings.flatMap(({ differences }) => differences);
  return first === undefined ? '' : `${first.request}: ${differenceInWords(first)}`;
}
