import { hash } from 'node:crypto';
import type { KeptVersion, VersionSource } from '../core/backend.js';
import { keyFields } from '../core/keys/key-record.js';
import type { AccessKey } from '../core/model.js';
import { RecentMap } from '../core/recent-map.js';
import { inTurns, mappedSteps, Pace, type Steps, sortedSteps } from '../core/steps.js';
import { readDocumentSteps } from './document.js';
import { differingPlaces, fingerprintSteps } from './patch/fingerprint.js';
import { contentDigest, digestIn } from './retention.js';

/** The number of changes that turn one configuration into another. */
export interface CountedDifference {
  readonly added: number;
  readonly removed: number;
  /** Keys with another record. */
  readonly changed: number;
  /** The places outside the lists of keys, as JSON Pointers. */
  readonly places: readonly string[];
}

/** A kept version with what its restoring would change, and the change that was made after it. */
export interface ExplainedVersion extends KeptVersion {
  /** True for a version with the present content, whose restoring would change nothing. */
  readonly isNow: boolean;
  /** The changes that restoring it would make; null if either side cannot be read. */
  readonly difference: CountedDifference | null;
  /** The changes that restoring it would have made to the version after it; null if either side cannot be read. */
  readonly next: CountedDifference | null;
}

/** A configuration as far as differences are counted. */
interface Sketch {
  /** A digest of each key, rising, and at its place one of its record. */
  readonly keys: Float64Array;
  readonly records: Float64Array;
  /** The places outside the lists of keys with a digest each. */
  readonly members: ReadonlyMap<string, string>;
}

/** Keys and places that are remembered of all configurations together: some 16 and 100 bytes each. */
const MOST_REMEMBERED = 1_000_000;

/** Explains kept versions. It reads a content once, and remembers a sketch of it by its digest. */
export class ExplainedVersions {
  readonly #sketches = new RecentMap<string, Sketch>(
    MOST_REMEMBERED,
    (_digest, { keys, members }) => keys.length + members.size,
  );

  /** Compares each version with the present configuration, and with the version after it; newest first. */
  async list(source: VersionSource): Promise<readonly ExplainedVersion[]> {
    const present = await source.present().catch(() => null);
    const digest = present === null ? null : await contentDigest(present);
    const now = present === null || digest === null ? null : await this.#sketchOf(digest, async () => present);
    const versions: ExplainedVersion[] = [];
    let after = now;
    for (const version of (await source.list()).toReversed()) {
      const { id } = version;
      const then = await this.#sketchOf(digestIn(id), () => source.read(id));
      const isNow = digestIn(id) === digest;
      versions.push({ ...version, isNow, difference: countedBetween(now, then), next: countedBetween(after, then) });
      after = then ?? after;
    }
    return versions;
  }

  /** Resolves to the sketch of a content; null if it cannot be read. */
  async #sketchOf(digest: string, read: () => Promise<Buffer>): Promise<Sketch | null> {
    try {
      const sketch = this.#sketches.get(digest) ?? (await inTurns(sketchSteps(await read())));
      // One that was known is set, too, and so stays longest.
      this.#sketches.set(digest, sketch);
      return sketch;
    } catch {
      return null;
    }
  }
}

function* sketchSteps(bytes: Buffer): Steps<Sketch> {
  const pace = new Pace();
  const { document, configuration } = yield* readDocumentSteps(bytes);
  const { members } = yield* fingerprintSteps(document, pace);
  const digests = yield* mappedSteps(configuration.keys, digestsOf, pace);
  const rising = yield* sortedSteps(digests, ([one], [other]) => one - other);
  return {
    keys: Float64Array.from(rising, ([key]) => key),
    records: Float64Array.from(rising, ([, record]) => record),
    members,
  };
}

/** Bytes of a digest that a number holds exactly. */
const DIGEST_BYTES = 6;

const digestsOf = (key: AccessKey): readonly [key: number, record: number] => [
  digestOf(key.accessKey),
  digestOf(keyFields.map(({ name }) => (key[name] === null ? '' : JSON.stringify(String(key[name])))).join()),
];

const digestOf = (text: string): number => hash('sha256', text, 'buffer').readUIntBE(0, DIGEST_BYTES);

/** Counts what turns `before` into `after`; null if either is. */
function countedBetween(before: Sketch | null, after: Sketch | null): CountedDifference | null {
  if (before === null || after === null) return null;
  const counted = { added: 0, removed: 0, changed: 0, places: differingPlaces(before.members, after.members) };
  let [one, other] = [0, 0];
  while (one < before.keys.length || other < after.keys.length) {
    const step = (before.keys[one] ?? Number.POSITIVE_INFINITY) - (after.keys[other] ?? Number.POSITIVE_INFINITY);
    if (step < 0) counted.removed += 1;
    else if (step > 0) counted.added += 1;
    else if (before.records[one] !== after.records[other]) counted.changed += 1;
    if (step <= 0) one += 1;
    if (step >= 0) other += 1;
  }
  return counted;
}
