import { createHash } from 'node:crypto';
import type { ConfigurationFingerprint } from '../../core/backend.js';
import { inTurns } from '../../core/steps.js';
import { outlineOf } from '../change.js';
import { locateKeysSteps, readRoot } from '../document.js';
import { canonicalText, type Value, valueAt } from './value.js';

/** The fingerprint of a configuration in a file's bytes, with others answered meanwhile. Rejects as `readDocument` throws. */
export async function fingerprintOf(bytes: Buffer): Promise<ConfigurationFingerprint> {
  const { bytes: outline, lists } = outlineOf(await inTurns(locateKeysSteps(bytes)));
  return fingerprintOfValue(valueAt(outline, readRoot(outline, 'tree'), new Set(lists)));
}

/** Members below these are told apart by the one above them. */
const MOST_MEMBERS = 2_000;

/** The fingerprint of a configuration; equal ones have the same, however they are written and whatever keys they have. */
export function fingerprintOfValue(root: Value): ConfigurationFingerprint {
  const members = new Map<string, string>();
  addMembers(root, '', members);
  return { digest: digestOf(canonicalText(root), 32), members };
}

function addMembers(value: Value, pointer: string, members: Map<string, string>): void {
  if (value.kind === 'keys') return;
  const children = childrenOf(value);
  if (children.length === 0 || members.size + children.length > MOST_MEMBERS) {
    members.set(pointer, digestOf(canonicalText(value), 16));
    return;
  }
  for (const [name, child] of children) {
    addMembers(child, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, members);
  }
}

function childrenOf(value: Value): readonly (readonly [string, Value])[] {
  if (value.kind === 'object') return [...value.members];
  return value.kind === 'array' ? value.items.map((item, index) => [String(index), item] as const) : [];
}

/** Hexadecimal digits of the SHA-256 of a text. */
const digestOf = (text: string, digits: number): string =>
  createHash('sha256').update(text).digest('hex').slice(0, digits);
