import { hash } from 'node:crypto';
import type { BackendSettings } from '../core/backend.js';
import { keyFields } from '../core/keys/key-record.js';
import type { KeyReader } from '../core/keys/types.js';
import { encodeJson } from '../wire/json/write-json.js';

/** Digests of a state as it stands: those of two states that differ are others. */
export interface StateMark {
  /** The records of all keys in any order, and which of them are over their limit; traffic is not in it. */
  readonly keys: string;
  /** Rules, DNS settings and credentials. */
  readonly settings: string;
}

/** Returns the mark of a state. */
export function markOf(keys: Pick<KeyReader, 'entries'>, settings: BackendSettings): StateMark {
  const lines = Array.from(keys.entries(), (key) =>
    encodeJson([key.accessKey, ...keyFields.map(({ name }) => key[name]), key.overLimit]),
  );
  const { outbound, dns, listener } = settings;
  const exact = (_name: string, value: unknown) => {
    if (value instanceof Map) return [...value];
    return typeof value === 'bigint' ? `${value}` : value;
  };
  return {
    keys: hash('sha256', lines.sort().join('\n')),
    settings: hash('sha256', JSON.stringify([outbound, dns, listener], exact)),
  };
}
