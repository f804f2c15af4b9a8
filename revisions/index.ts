import gt from 'semver/functions/gt.js';
import gte from 'semver/functions/gte.js';
import parse from 'semver/functions/parse.js';
import valid from 'semver/functions/valid.js';
import { toldInFull } from '../src/wire/errors.js';
import { didYouMean } from '../src/wire/suggest.js';
import { mayBeOpen } from '../src/wire/traits/auth.js';
import type { Revision } from '../src/wire/traits/revision.js';
import { REVISIONS } from './all.js';

/** The word for the newest line. */
const LATEST = 'latest';

/** The revision that `--revision` asked for. */
export interface ResolvedRevision {
  readonly revision: Revision;
  /** The server package version that the mount stands for; the status reports it. */
  readonly version: string;
  /** True where the version is later than the last known one of its line. */
  readonly isLater: boolean;
  /** One sentence for the operator when the choice was not exact, else null. */
  readonly note: string | null;
}

export type RevisionAnswer =
  | ({ readonly ok: true } & ResolvedRevision)
  | { readonly ok: false; readonly problem: string };

/**
 * The latest line that may be open, its failures told in full: what commands speak to a Keyway on this machine, whose socket lets
 * nobody else in.
 */
export function commandRevision(): Revision {
  const newest = REVISIONS.findLast(({ auth }) => mayBeOpen(auth));
  if (newest === undefined) throw new Error('there is no revision that may be open');
  return { ...newest, errors: toldInFull(newest.errors) };
}

/**
 * Finds a revision by its id or by a server package version (semver), whose pre-releases are of the same line; an unknown one is a
 * problem that lists the known.
 */
export function resolveRevision(text: string): RevisionAnswer {
  const named = text === LATEST ? REVISIONS.at(-1) : REVISIONS.find(({ id }) => id === text && valid(id) === null);
  if (named !== undefined)
    return { ok: true, revision: named, version: named.reportedVersion, isLater: false, note: null };
  const version = valid(text);
  const release = releaseOf(version);
  const line = release === null ? undefined : REVISIONS.findLast(({ from }) => gte(release, from));
  if (version === null || release === null || line === undefined)
    return { ok: false, problem: `expected ${knownRevisions()}${nearestRevision(text)}` };
  const isLater = gt(release, line.reportedVersion);
  const note = isLater
    ? `${version} is later than ${line.reportedVersion}, the last known version: it is served as line ${line.id}`
    : null;
  return { ok: true, revision: line, version, isLater, note };
}

/** The three numbers of a version. */
function releaseOf(version: string | null): string | null {
  const parsed = parse(version);
  return parsed === null ? null : `${parsed.major}.${parsed.minor}.${parsed.patch}`;
}

const NAMES = [...REVISIONS.map(({ id }) => id).filter((id) => valid(id) === null), LATEST];

/** The names or versions that a text was most likely meant to be, as the end of a sentence; empty where none is near. */
export function nearestRevision(text: string): string {
  if (text.includes(',')) return ': give it once for each';
  const [first, ...others] = REVISIONS.map(({ reportedVersion }) => reportedVersion)
    .filter((version) => /^\d/.test(text) && version.startsWith(`${text}.`))
    .slice(-3)
    .reverse();
  return first === undefined ? didYouMean(text, NAMES) : ` (did you mean ${[first, ...others].join(' or ')}?)`;
}

/** The words and versions that `--revision` takes, for messages. */
export function knownRevisions(): string {
  return `${NAMES.join(', ')}, or the version of a server, ${REVISIONS[0]?.from} or later ("keyway revisions" lists them)`;
}
