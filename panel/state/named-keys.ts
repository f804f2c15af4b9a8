import type { Place } from '../api/places.js';
import type { User } from '../api/wire.js';
import { sentence, type Words } from '../i18n/text.js';
import { sha256 } from '../text/sha256.js';
import { visible } from '../text/visible.js';
import type { Failed } from './batch.js';
import { titleOf } from './key-list.js';

/** A key and what people call it; the name may be empty. */
export interface NamedKey {
  readonly key: string;
  readonly name: string;
}

/** Keys that something is done with, as they stood when it was asked for. */
export function namedKeys(keys: readonly string[], byKey: ReadonlyMap<string, User>): readonly NamedKey[] {
  return keys.map((key) => ({ key, name: byKey.get(key)?.name ?? '' }));
}

/** Returns false for an empty key, which has no path of its own, and for one of dots, a step between folders (URL Standard, 4.4). */
export function isAddressable(key: string): boolean {
  return key !== '' && key !== '.' && key !== '..';
}

/** The command line that removes a key which no browser can address from the server. */
export function removalCommand(key: string, { root }: Place): string {
  return `keyway keys remove --digest ${sha256(key).slice(0, 8)} --target ${root.replace(/\/api$/, '')}`;
}

/** The key's title, short enough for a line. */
export function labelOf({ key, name }: NamedKey): string {
  const title = titleOf({ access_key: key, name });
  return title.length > 80 ? `${title.slice(0, 80)}…` : title;
}

const TOLD = 5;

/** Actions on several keys whose failures are told together. */
export type Action = 'delete' | 'limit' | 'reset';

/** Names the keys that failed, and the reason of the first. */
export function failureText(action: Action, failed: readonly Failed<NamedKey>[], words: Words): string {
  const names = failed.slice(0, TOLD).map(({ item }) => labelOf(item));
  const more = failed.length - names.length;
  return words(`failed.${action}`, {
    n: failed.length,
    names: visible(names.join(', ')) + (more > 0 ? ` ${words('failed.more', { n: more })}` : ''),
    why: sentence(failed[0]?.error, words),
  });
}
