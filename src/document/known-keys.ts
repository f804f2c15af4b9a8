import { recordOf } from '../core/keys/key-record.js';
import type { AccessKey } from '../core/model.js';
import { prettyJson } from '../wire/json/json.js';
import { changeDocument } from './change.js';
import { readDocument } from './document.js';
import { replaceLegacyList } from './sync-legacy-list.js';

/** A configuration with other keys than it had. */
export interface WithKnownKeys {
  /** On lines, as servers write it. */
  readonly bytes: Buffer;
  /** The number of keys now, of those that it did not have before, and of those that it has no longer. */
  readonly keys: number;
  readonly added: number;
  readonly removed: number;
}

/**
 * A configuration with exactly these keys. Beside inbounds the legacy key list has them, too, as plain strings
 * which every live reload reads. Throws `JsonSyntaxError` and `ConfigurationShapeError`.
 */
export function withKnownKeys(content: Buffer, known: ReadonlyMap<string, AccessKey>): WithKnownKeys {
  const { document, configuration } = readDocument(content);
  const present = new Set(configuration.keys.map(({ accessKey }) => accessKey));
  const gone = [...present].filter((accessKey) => !known.has(accessKey));
  const changes = new Map<string, AccessKey | null>([...gone.map((accessKey) => [accessKey, null] as const), ...known]);
  const changed = changeDocument(document, { keys: changes });
  const plain = [...known.keys()].map((accessKey) => recordOf(accessKey));
  const whole = changed.legacyList === null ? changed : replaceLegacyList(changed, plain);
  const added = [...known.keys()].filter((accessKey) => !present.has(accessKey)).length;
  return { bytes: prettyJson(whole.bytes), keys: known.size, added, removed: gone.length };
}
