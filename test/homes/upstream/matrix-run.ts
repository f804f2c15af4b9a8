import { createHash } from 'node:crypto';
import { REVISIONS } from '../../../revisions/all.js';
import type { Loss } from '../../../src/client/losses.js';
import type { Revision } from '../../../src/wire/traits/revision.js';
import { type Found, lossOf, type NamedScenario, play, scenariosFor, whyNot } from './matrix.js';
import { openFront } from './open-front.js';

/** A revision in front of a line. */
export interface Cell {
  readonly northbound: Revision;
  readonly line: Revision;
  readonly played: number;
  /** Scenarios in which something was lost. */
  readonly withLosses: number;
  /** By the reason for which they cannot be played. */
  readonly skipped: ReadonlyMap<string, number>;
}

export interface MatrixResults {
  readonly cells: readonly Cell[];
  /** One line each: what differs and no loss says. */
  readonly unlisted: readonly string[];
  /** Whether a loss was seen over a line, and how often. */
  occurred(line: Revision, loss: Loss): number;
}

/** Whether a scenario is played in a cell. */
export type Choice = (scenario: NamedScenario, northbound: Revision, line: Revision) => boolean;

/** Returns the choice of scenarios that between them show every loss of every line, and of one in 300 of the rest by a seed. */
export function sampleOf(seed: number): Choice {
  return ({ file }, northbound, line) =>
    SHOWING.test(file) || hashOf(`${seed} ${file} ${northbound.id} ${line.id}`) % 300 === 0;
}

const SHOWING =
  /^lines\/0\.4\.6-(dns|rules|share|status-without-keys|subscribe|users)\.json$|^(current\/rules|dns\/subscribe-(dns|query)|earliest\/list-users-none)\.json$|^recorded\/(0\.2\.(48|86)\/dns|0\.4\.6\/dns-file-legacy-partial)\.json$/;

function hashOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE();
}

/** Plays what is chosen in front of these lines, a few at a time. */
export async function playCells(lines: readonly Revision[], choice: Choice): Promise<MatrixResults> {
  const found: Found[] = [];
  const cells: Cell[] = [];
  for (const line of lines) {
    for (const northbound of REVISIONS) cells.push(await playCell(northbound, line, choice, found));
  }
  const listed = new Map<string, number>();
  const unlisted: string[] = [];
  for (const each of found) {
    const loss = lossOf(each);
    if (loss === undefined)
      unlisted.push(
        `${each.northbound.id} over ${each.line.id}, ${each.file}, ${each.operation} ${each.member}: ${each.difference}`,
      );
    else listed.set(nameOf(each.line, loss), (listed.get(nameOf(each.line, loss)) ?? 0) + 1);
  }
  return { cells, unlisted, occurred: (line, loss) => listed.get(nameOf(line, loss)) ?? 0 };
}

const nameOf = (line: Revision, { operation, member }: Loss) => `${line.id} ${operation} ${member}`;

const AT_ONCE = 4;

async function playCell(northbound: Revision, line: Revision, choice: Choice, found: Found[]): Promise<Cell> {
  const skipped = new Map<string, number>();
  const waiting: NamedScenario[] = [];
  for (const scenario of scenariosFor(northbound)) {
    const reason = whyNot(scenario, line);
    if (reason !== null) skipped.set(reason, (skipped.get(reason) ?? 0) + 1);
    else if (choice(scenario, northbound, line)) waiting.push(scenario);
  }
  const played = waiting.length;
  let withLosses = 0;
  const lane = async () => {
    for (let scenario = waiting.pop(); scenario !== undefined; scenario = waiting.pop()) {
      const differences = await play(scenario, northbound, line, openFront);
      if (differences.length > 0) withLosses += 1;
      found.push(...differences);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return { northbound, line, played, withLosses, skipped };
}
