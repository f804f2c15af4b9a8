import { isJsonObject } from '../../wire/json/json.js';
import type { Revision } from '../../wire/traits/revision.js';
import type { ScenarioResult } from '../compare/result.js';
import { differencesInWords } from '../compare/trait-differences.js';
import type { Look } from './look.js';
import { proxyNotes } from './proxy-notes.js';
import { type Finding, findingsOf, RULE_NAMES } from './rules.js';

/** A server compared with one line's record. */
export interface Standing {
  readonly revision: Revision;
  readonly findings: readonly Finding[];
  /** True if nothing that was seen contradicts it. */
  readonly fits: boolean;
}

/** Compares a server with the records of these lines, by reads alone. */
export async function standingsOf(look: Look, revisions: readonly Revision[]): Promise<readonly Standing[]> {
  const standings: Standing[] = [];
  for (const revision of revisions) {
    const findings = await findingsOf(look, revision);
    standings.push({ revision, findings, fits: fitsLine(findings) });
  }
  return standings;
}

function fitsLine(findings: readonly Finding[]): boolean {
  return !findings.some(({ outcome, tellsLine }) => outcome === 'differs' && tellsLine);
}

/** Drops a token that is accepted nowhere, because it may be wrong and distinguishes no lines. */
export async function withTrustedToken(look: Look, apiRoot: string): Promise<Look> {
  return (await look.passing(apiRoot)) === undefined ? { ...look, token: null } : look;
}

/** Returns the line of a server package version; null for an unknown one. */
export type LineOf = (version: string) => Revision | null;

/** The results of reading a server that is expected to speak one revision. */
export type ReadReport = Awaited<ReturnType<typeof readServer>>;

/** Reads everything that a server shows and compares it with its own revision and with all others. */
export async function readServer(look: Look, revision: Revision, lines: readonly Revision[], lineOf: LineOf) {
  const begun = performance.now();
  const findings = await findingsOf(look, revision);
  const milliseconds = (performance.now() - begun) / findings.length;
  const others = await standingsOf(
    await withTrustedToken(look, revision.root.paths(look.webpath).api),
    lines.filter((each) => each !== revision),
  );
  const rules = findings.filter(({ operation }) => operation === null);
  const fitting = others.filter(({ fits }) => fits).map((each) => each.revision);
  const { api, base } = revision.root.paths(look.webpath);
  const reported = await reportedVersion(look, api);
  const line = reported === null ? null : lineOf(reported);
  return {
    /**
     * The version in the status and its line, null if there is none or it is unknown; `isOwn` is false for another
     * line's version.
     */
    version: { reported, line: line?.id ?? null, isOwn: reported === null || line === revision },
    /** Sentences about behaviour that is no difference but may be caused by a proxy. */
    notes: await proxyNotes({ look, revision, api, base }),
    results: findings.map((each) => resultOf(each, milliseconds)),
    /** The number of rules that were seen, and of all. */
    rules: { seen: rules.filter(({ outcome }) => outcome !== 'unseen').length, all: RULE_NAMES.length },
    /** The number of other lines, and of those that the server certainly does not speak. */
    lines: {
      ownFits: fitsLine(findings),
      all: others.length,
      told: others.length - fitting.length,
      /** The other lines that fit, and the traits in which each differs from the expected one. */
      fitting: fitting.map((each) => ({ id: each.id, by: differencesInWords(revision, each) })),
    },
  };
}

/** Returns the version in the status at this API root; null if it is not shown, or missing. */
export async function reportedVersion(look: Look, apiRoot: string): Promise<string | null> {
  const authorization = await look.passing(apiRoot);
  if (authorization === undefined) return null;
  const { envelope } = await look.read({ method: 'GET', path: `${apiRoot}/server/status`, authorization });
  const version = isJsonObject(envelope?.data) ? envelope.data.version : undefined;
  return typeof version === 'string' ? version : null;
}

/** Returns the finding of a rule or an operation as a report shows it. */
export function resultOf(finding: Finding, milliseconds = 0): ScenarioResult {
  const { rule, title, operation, outcome, reason, differences, hint } = finding;
  return {
    name: `reads/${rule}`,
    path: '',
    title,
    outcome: outcome === 'holds' ? 'equal' : outcome === 'differs' ? 'different' : 'skipped',
    reason,
    differences: differences.map((each) => ({ ...each, step: 'read' as const })),
    seen: operation === null || outcome === 'unseen' ? [] : [operation],
    known: 0,
    unplayed: null,
    hint,
    milliseconds,
  };
}
