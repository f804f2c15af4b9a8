import { createHash } from 'node:crypto';
import type { ConfigurationFingerprint } from '../../core/backend.js';
import { inTurns, Pace, type Steps } from '../../core/steps.js';
import { type ConfigurationDocument, locateKeysSteps, readRootSteps } from '../document.js';
import { outlineSteps } from '../outline.js';
import { documentValueSteps, identitySteps, type Value } from '../value.js';

/**
 * Returns the fingerprint of a configuration in a file's bytes, yielding to other work meanwhile. Rejects as
 * `readDocument` throws.
 */
export async function fingerprintOf(bytes: Buffer): Promise<ConfigurationFingerprint> {
  return inTurns(fingerprintSteps(await inTurns(locateKeysSteps(bytes)), new Pace()));
}

/** Returns the fingerprint of a document. Throws as `readDocument` does. */
export function* fingerprintSteps(document: ConfigurationDocument, pace: Pace): Steps<ConfigurationFingerprint> {
  const outline = yield* outlineSteps(document);
  const root = yield* readRootSteps(outline.bytes, 'tree');
  return yield* valueFingerprintSteps(yield* documentValueSteps(outline, root, pace), pace);
}

/** The most members with digests of their own; members below others are covered by those. */
const MOST_MEMBERS = 2_000;
/** Values that take as long as one digest. */
const HASHED = 10;

/**
 * Returns the fingerprint of a configuration; equal ones have the same, however they are written and whatever keys they
 * have.
 */
export function* valueFingerprintSteps(root: Value, pace: Pace): Steps<ConfigurationFingerprint> {
  const members = new Map<string, string>();
  yield* addMembers(root, '', members, pace);
  return { digest: digestOf(yield* identitySteps(root, pace), 32), members };
}

function* addMembers(value: Value, pointer: string, members: Map<string, string>, pace: Pace): Steps<void> {
  if (value.kind === 'keys') return;
  const children = childrenOf(value, MOST_MEMBERS - members.size);
  if (children.length === 0) members.set(pointer, digestOf(yield* identitySteps(value, pace), 16));
  if (pace.isDue(HASHED)) yield;
  for (const [name, child] of children) {
    yield* addMembers(child, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, members, pace);
  }
}

/** Returns the children of a value by name; none if there are more than `most`. */
function childrenOf(value: Value, most: number): readonly (readonly [string, Value])[] {
  if (value.kind === 'object') return value.members.size > most ? [] : [...value.members];
  if (value.kind !== 'array' || value.items.length > most) return [];
  return value.items.map((item, index) => [String(index), item] as const);
}

/** Lists the places, as JSON Pointers, where the members of two fingerprints differ. */
export function differingPlaces(
  one: ConfigurationFingerprint['members'],
  other: ConfigurationFingerprint['members'],
): readonly string[] {
  const all = new Set([...one.keys(), ...other.keys()]);
  return [...all].filter((pointer) => one.get(pointer) !== other.get(pointer)).sort();
}

/** Returns the first hexadecimal digits of the SHA-256 of a text. */
const digestOf = (text: string, digits: number): string =>
  createHash('sha256').update(text).digest('hex').slice(0, digits);
