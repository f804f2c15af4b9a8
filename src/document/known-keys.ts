import { recordOf } from '../core/keys/key-record.js';
import type { AccessKey } from '../core/model.js';
import { prettyJson } from '../wire/json/json.js';
import { changeDocument } from './change.js';
import { readDocument } from './document.js';
import { replaceLegacyList } from './sync-legacy-list.js';

/** A configuration whose keys were replaced. */
export interface WithKnownKeys {
  /** On several lines, as servers write it. */
  readonly bytes: Buffer;
  /** The number of keys, of those that are new, and of those that are gone. */
  readonly keys: number;
  readonly added: number;
  readonly removed: number;
}

/**
 * Returns a configuration with exactly these keys. If it has inbounds, the legacy key list gets them, too, as plain
 * strings, which every live reload reads. Throws `JsonSyntaxError` and `ConfigurationShapeError`.
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
