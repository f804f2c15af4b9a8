import type { Whole } from '../../src/text/whole.js';
import type { OwnInterface } from './own-interface.js';
import { fieldsOf, itemsOf } from './wire.js';

/** The changes for which versions are kept. */
const REASONS = ['keys_removed', 'settings_changed', 'keys_changed', 'keys_added', 'spelling'] as const;

/** A kept version of the configuration, and what its restore would change. */
export interface KeptVersion {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly keptAt: number;
  /** The change after it. */
  readonly reason: (typeof REASONS)[number] | 'other';
  /** The numbers of keys that a restore adds, removes and changes; empty where they are not known. */
  readonly counts: readonly Whole[];
  /** The members of the root that it changes besides. */
  readonly members: readonly string[];
}

/** Milliseconds: the versions of a configuration with 100,000 keys take long to compare. */
const TIMEOUT = 120_000;

/** Asks for the kept versions, newest first. Rejects with `ApiFailure`. */
export async function listVersions(own: OwnInterface): Promise<readonly KeptVersion[]> {
  const data = await own.ask({ path: '/configuration/versions', timeout: TIMEOUT });
  return itemsOf(data, ({ members, text, texts, time, whole }) => ({
    id: text('id'),
    keptAt: time('kept_at'),
    reason: REASONS.find((known) => known === members.reason) ?? 'other',
    counts: members.members === null ? [] : ['keys_added', 'keys_removed', 'keys_changed'].map(whole),
    members: texts('members'),
  }));
}

/** Reads a version; resolves to the whole answer, whose `data` is it. */
export async function readVersion(own: OwnInterface, id: string): Promise<string> {
  return (await own.exchange({ path: pathOf(id), timeout: TIMEOUT })).text;
}

/** Restores a version; resolves to the id of the one that takes it back, null for none. Rejects with `ApiFailure`. */
export async function restoreVersion(own: OwnInterface, id: string): Promise<string | null> {
  const path = `${pathOf(id)}/restore`;
  const { orNull, text } = fieldsOf(await own.ask({ method: 'POST', path, timeout: TIMEOUT, endsSession: true }));
  return orNull('before', text);
}

const pathOf = (id: string): string => `/configuration/versions/${encodeURIComponent(id)}`;
