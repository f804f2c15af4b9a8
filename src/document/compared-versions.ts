import type { KeptVersion, VersionSource } from '../core/backend.js';
import { inTurns } from '../core/steps.js';
import { type ReadConfiguration, readDocumentSteps } from './document.js';
import { contentDigest, versionNamed } from './retention.js';
import { comparisonWith, type VersionDifference } from './version-difference.js';

/** A kept version compared with the present configuration. */
export interface ComparedVersion extends KeptVersion {
  /** True for a version with the present content, whose restoring would change nothing. */
  readonly isNow: boolean;
  /** The number of its keys; null if it is damaged, or not a configuration. */
  readonly keys: number | null;
  /** The changes that restoring it would make; null if either side cannot be read. */
  readonly difference: VersionDifference | null;
}

export interface ComparedVersions {
  /** Oldest first. */
  readonly versions: readonly ComparedVersion[];
  /** The error because of which the present configuration cannot be compared; null if it can. */
  readonly problem: unknown;
}

/** Compares all versions with the present configuration. */
export async function compareVersions(source: VersionSource): Promise<ComparedVersions> {
  const now = await presentIn(source);
  const versions: ComparedVersion[] = [];
  for (const version of await source.list()) versions.push(await comparedWith(now, version, source));
  return { versions, problem: now.problem };
}

/** Compares one version, whose id may be shortened. */
export async function compareVersion(source: VersionSource, wanted: string): Promise<ComparedVersions> {
  const version = versionNamed(await source.list(), wanted);
  const now = await presentIn(source);
  return { versions: [await comparedWith(now, version, source)], problem: now.problem };
}

/** Returns the newest version that would change something, else null; one from before a great loss comes first. */
export async function versionToOffer(source: VersionSource): Promise<KeptVersion | null> {
  const { isIn } = await presentIn(source);
  const others = (await source.list()).filter((version) => !isIn(version));
  return others.findLast(({ forever }) => forever) ?? others.at(-1) ?? null;
}

type Present = Awaited<ReturnType<typeof presentIn>>;

async function presentIn(source: VersionSource) {
  try {
    const bytes = await source.present();
    const digest = await contentDigest(bytes);
    const isIn = ({ id }: KeptVersion) => id.endsWith(digest);
    return { isIn, ...(await comparable(bytes)) };
  } catch (problem) {
    return { isIn: () => false, compare: null, problem };
  }
}

async function comparable(bytes: Buffer) {
  try {
    return { compare: await comparisonWith(await inTurns(readDocumentSteps(bytes))), problem: null };
  } catch (problem) {
    return { compare: null, problem };
  }
}

async function comparedWith(
  { compare, isIn }: Present,
  version: KeptVersion,
  source: VersionSource,
): Promise<ComparedVersion> {
  const then = await documentOf(version, source).catch((): ReadConfiguration | null => null);
  return {
    ...version,
    isNow: isIn(version),
    keys: then?.configuration.keys.length ?? null,
    difference: then === null || compare === null ? null : await compare(then),
  };
}

async function documentOf({ id }: KeptVersion, source: VersionSource): Promise<ReadConfiguration> {
  return inTurns(readDocumentSteps(await source.read(id)));
}
