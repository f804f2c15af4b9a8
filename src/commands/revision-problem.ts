import { resolveRevision } from '../../revisions/index.js';

/** What is wrong with a revision's name or version, or null: settings are read without knowing the revisions. */
export function revisionProblem(revision: string): string | null {
  const resolved = resolveRevision(revision);
  return resolved.ok ? null : resolved.problem;
}
