import gt from 'semver/functions/gt.js';
import gte from 'semver/functions/gte.js';
import valid from 'semver/functions/valid.js';
import type { Revision } from '../src/wire/traits/revision.js';
import { REVISIONS } from './all.js';

/** What `--revision` asked for. */
export interface ResolvedRevision {
  readonly revision: Revision;
  /** The server package version that the mount stands for; the status reports it. */
  readonly version: string;
  /** Whether the version is later than the last known one. */
  readonly isLater: boolean;
  /** One sentence for the operator when the choice was not exact, else null. */
  readonly note: string | null;
}

export type RevisionAnswer =
  | ({ readonly ok: true } & ResolvedRevision)
  | { readonly ok: false; readonly problem: string };

/** The latest line: what commands speak to a Keyway on this machine. */
export function newestRevision(): Revision {
  const newest = REVISIONS.at(-1);
  if (newest === undefined) throw new Error('there is no revision');
  return newest;
}

/** Finds a revision by its id or by a server package version (semver); an unknown one is a problem that lists the known. */
export function resolveRevision(text: string): RevisionAnswer {
  const named = REVISIONS.find(({ id }) => id === text && valid(id) === null);
  if (named !== undefined)
    return { ok: true, revision: named, version: named.reportedVersion, isLater: false, note: null };
  const version = valid(text);
  const line = version === null ? undefined : REVISIONS.findLast(({ from }) => gte(version, from));
  if (version === null || line === undefined) return { ok: false, problem: `expected ${knownRevisions()}` };
  const isLater = line.to === null && gt(version, line.reportedVersion);
  const note = isLater
    ? `${version} is later than ${line.reportedVersion}, the last known version: it is served as line ${line.id}`
    : null;
  return { ok: true, revision: line, version, isLater, note };
}

/** The ids and version ranges that `--revision` takes, for messages. */
export function knownRevisions(): string {
  const names = REVISIONS.map(({ id }) => id).filter((id) => valid(id) === null);
  const lines = REVISIONS.map(({ from, to }) =>
    to === null ? `${from} and later` : from === to ? from : `${from} to ${to}`,
  );
  return `${names.join(', ')}, or a server package version: ${lines.join(', ')}`;
}
