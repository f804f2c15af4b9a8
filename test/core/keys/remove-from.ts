import type { KeyRegistry } from '../../../src/core/keys/registry.js';

/** As DELETE does once the file is written: record and counters go. False when the key is unknown. */
export function removeFrom(keys: KeyRegistry, accessKey: string): boolean {
  const isKnown = keys.setAside(accessKey);
  keys.forget(accessKey);
  return isKnown;
}
