import type { Place } from '../api/places.js';
import type { User } from '../api/wire.js';
import { sha256 } from '../text/sha256.js';
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
