import { keyDigest } from '../../core/key-digest.js';
import type { ConfigurationChange } from '../../core/model.js';
import { changeCount } from './configuration/pending-changes.js';

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
