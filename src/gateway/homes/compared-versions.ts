import { DomainError } from '../../core/errors.js';
import { inTurns } from '../../core/steps.js';
import { type ReadConfiguration, readDocumentSteps } from '../../document/document.js';
import { type KeptVersion, versionNamed } from '../../document/retention.js';
import { comparisonWith, type VersionDifference } from '../../document/version-difference.js';
import { digestOf } from '../../files/kept-versions.js';
import { failureWords } from '../../platform/failure-words.js';

/** The kept versions of one home's configuration, as they can be read. */
export interface VersionSource {
  /** Oldest first. */
  list(): Promise<readonly KeptVersion[]>;
  read(id: string): Promise<Buffer>;
  /** Reads what stands there now. Rejects where that cannot be had. */
  present(): Promise<Buffer>;
}

/** A kept version beside what stands there now. */
export interface ComparedVersion extends KeptVersion {
  /** True for one of that very content, as which nothing would come back. */
  readonly isNow: boolean;
  /** The number of its keys; null where it cannot be read as a configuration. */
  readonly keys: number | null;
  /** What restoring it would change; null where either cannot be read. */
  readonly difference: VersionDifference | null;
}

export interface ComparedVersions {
  /** Oldest first. */
  readonly versions: readonly ComparedVersion[];
  /** The reason why what stands there now cannot be compared with; null where it can. */
  readonly problem: Error | null;
}

/** Compares all versions with what stands there now. */
export async function compareVersions(source: VersionSource): Promise<ComparedVersions> {
  const now = await presentIn(source);
  const versions: ComparedVersion[] = [];
  for (const version of await source.list())
    versions.push(await comparedWith(now, version, await source.read(version.id)));
  return { versions, problem: now.problem };
}

/** Compares one version, whose id may be shortened. */
export async function compareVersion(source: VersionSource, wanted: string): Promise<ComparedVersions> {
  const version = versionNamed(await source.list(), wanted);
  const now = await presentIn(source);
  return { versions: [await comparedWith(now, version, await source.read(version.id))], problem: now.problem };
}

/** The newest version that would change something, else null; one from before a great loss comes first. */
export async function versionToOffer(source: VersionSource): Promise<KeptVersion | null> {
  const { isIn } = await presentIn(source);
  const others = (await source.list()).filter((version) => !isIn(version));
  return others.findLast(({ forever }) => forever) ?? others.at(-1) ?? null;
}

type Present = Awaited<ReturnType<typeof presentIn>>;

async function presentIn(source: VersionSource) {
  try {
    const bytes = await source.present();
    const digest = await digestOf(bytes);
    const isIn = ({ id }: KeptVersion) => id.endsWith(digest);
    return { isIn, ...(await comparable(bytes)) };
  } catch (error) {
    return { isIn: () => false, compare: null, problem: problemOf(error) };
  }
}

async function comparable(bytes: Buffer) {
  try {
    return { compare: await comparisonWith(await inTurns(readDocumentSteps(bytes))), problem: null };
  } catch (error) {
    return { compare: null, problem: problemOf(error) };
  }
}

const problemOf = (error: unknown): Error =>
  error instanceof DomainError ? error : new Error(failureWords(error), { cause: error });

async function comparedWith({ compare, isIn }: Present, version: KeptVersion, bytes: Buffer): Promise<ComparedVersion> {
  const then = await inTurns(readDocumentSteps(bytes)).catch((): ReadConfiguration | null => null);
  const keys = then?.configuration.keys.length ?? null;
  return {
    ...version,
    isNow: isIn(version),
    keys,
    difference: then === null || compare === null ? null : await compare(then),
  };
}
