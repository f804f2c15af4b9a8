import { isJsonObject } from '../../wire/json/json.js';
import type { KeyPlace } from './home.js';

/** Keys of one answer. */
const MOST = 10_000;

/** Reads the notes by their keys; there are none at a place that is no Keyway. */
export async function notesAt({ own }: Pick<KeyPlace, 'own'>): Promise<ReadonlyMap<string, string>> {
  const notes = new Map<string, string>();
  for (let after: string | null = ''; own !== null && after !== null; ) {
    const behind: string = after === '' ? '' : `&after=${encodeURIComponent(after)}`;
    const page = await own('GET', `/keys?noted=1&limit=${MOST}${behind}`);
    const keys = isJsonObject(page) && Array.isArray(page.keys) ? page.keys.filter(isJsonObject) : [];
    for (const { access_key: key, note } of keys) notes.set(String(key), String(note));
    after = keys.length < MOST ? null : String(keys.at(-1)?.access_key);
  }
  return notes;
}
