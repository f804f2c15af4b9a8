import type { Revision } from '../../wire/traits/revision.js';
import type { ScenarioResult } from '../result.js';
import { traitDifferences, traitWords } from '../trait-differences.js';
import type { Look } from './look.js';
import { type Finding, findingsOf, RULE_NAMES } from './rules.js';

/** A server held against one line's record. */
export interface Standing {
  readonly revision: Revision;
  readonly findings: readonly Finding[];
  /** Whether nothing that was seen speaks against it. */
  readonly fits: boolean;
}

/** Holds a server against the records of these lines, by reads alone. */
export async function standingsOf(look: Look, revisions: readonly Revision[]): Promise<readonly Standing[]> {
  const standings: Standing[] = [];
  for (const revision of revisions) {
    const findings = await findingsOf(look, revision);
    standings.push({ revision, findings, fits: findings.every(({ outcome }) => outcome !== 'differs') });
  }
  return standings;
}

/** A token that gets in nowhere may as well be a wrong one: it tells no lines apart. */
export async function withTrustedToken(look: Look, apiRoot: string): Promise<Look> {
  return (await look.passing(apiRoot)) === undefined ? { ...look, token: null } : look;
}

/** What reads showed of a server that is asked to speak one revision. */
export interface ReadReport {
  readonly results: readonly ScenarioResult[];
  /** Rules that were seen, of all. */
  readonly rules: { readonly seen: number; readonly all: number };
  readonly lines: LinesRead;
}

/** The lines beside the one that was asked for. */
export interface LinesRead {
  /** Whether the one that was asked for fits what was read. */
  readonly ownFits: boolean;
  /** How many others there are, and how many of them the server certainly does not speak. */
  readonly all: number;
  readonly told: number;
  /** The others that fit what was read, and what each differs in from the one that was asked for. */
  readonly fitting: readonly { readonly id: string; readonly by: readonly string[] }[];
}

/** Reads all that a server shows and holds it against its own revision and against all others. */
export async function readServer(look: Look, revision: Revision, lines: readonly Revision[]): Promise<ReadReport> {
  const begun = performance.now();
  const findings = await findingsOf(look, revision);
  const milliseconds = (performance.now() - begun) / findings.length;
  const others = await standingsOf(
    await withTrustedToken(look, revision.root.paths(look.webpath).api),
    lines.filter((each) => each !== revision),
  );
  const rules = findings.filter(({ operation }) => operation === null);
  const fitting = others.filter(({ fits }) => fits).map((each) => each.revision);
  return {
    results: findings.map((each) => resultOf(each, milliseconds)),
    rules: { seen: rules.filter(({ outcome }) => outcome !== 'unseen').length, all: RULE_NAMES.length },
    lines: {
      ownFits: findings.every(({ outcome }) => outcome !== 'differs'),
      all: others.length,
      told: others.length - fitting.length,
      fitting: fitting.map((each) => ({ id: each.id, by: traitDifferences(revision, each).map(traitWords) })),
    },
  };
}

/** What came of a rule or an operation as a report shows it. */
export function resultOf(finding: Finding, milliseconds = 0): ScenarioResult {
  const { rule, title, operation, outcome, reason, differences } = finding;
  return {
    name: `reads/${rule}`,
    path: '',
    title,
    outcome: outcome === 'holds' ? 'equal' : outcome === 'differs' ? 'different' : 'skipped',
    reason,
    differences: differences.map((each) => ({ ...each, step: 'read' as const })),
    seen: operation === null || outcome === 'unseen' ? [] : [operation],
    known: 0,
    hint: null,
    milliseconds,
  };
}
