import { keyDigest } from '../../../core/key-digest.js';
import type { ConfigurationChange } from '../../../core/model.js';
import { parseMembers } from '../../../files/data-folder.js';
import { changeCount } from '../configuration/pending-changes.js';

/** The changes that wait for a write, told without a secret: a key by its digest, as in a log. */
export interface WaitingChanges {
  readonly count: number;
  /** One line each, at most `MOST_LINES`. */
  readonly lines: readonly string[];
}

const MOST_LINES = 20;

export function waitingChanges(change: ConfigurationChange): WaitingChanges {
  const keys = [...(change.keys ?? [])].map(([accessKey, key]) => {
    if (key === null) return `the removal of the key ${keyDigest(accessKey)}`;
    return `the key ${keyDigest(accessKey)}${key.name === null ? '' : ` (${JSON.stringify(key.name)})`}`;
  });
  const others = [...(change.rules ? ['the outbound rules'] : []), ...(change.dns ? ['the DNS settings'] : [])];
  return { count: changeCount(change), lines: [...others, ...keys].slice(0, MOST_LINES) };
}

export function encodeWaiting(waiting: WaitingChanges): Buffer {
  return Buffer.from(JSON.stringify(waiting));
}

/** Null where the bytes are none of ours. */
export function decodeWaiting(bytes: Buffer): WaitingChanges | null {
  const { count, lines } = parseMembers(bytes);
  if (typeof count !== 'number' || !Array.isArray(lines)) return null;
  return { count, lines: lines.filter((line) => typeof line === 'string') };
}
