import type { DnsAnswer } from './reply.js';

/** A cached answer and its age in seconds. */
export interface CachedAnswer {
  readonly answer: DnsAnswer;
  readonly age: number;
}

export interface CacheLimits {
  readonly entries: number;
  readonly bytes: number;
}

interface Entry {
  readonly answer: DnsAnswer;
  readonly storedAt: number;
  readonly expiresAt: number;
  readonly bytes: number;
}

/** Bytes of an entry in addition to its records and its key: objects, offsets, the map's slot. */
const ENTRY_BYTES = 400;

/** Creates an empty cache; `now` is milliseconds of a clock that never goes back. */
export function createAnswerCache(now: () => number, limits: CacheLimits) {
  const entries = new Map<string, Entry>();
  let bytes = 0;

  function drop(key: string, entry: Entry): void {
    entries.delete(key);
    bytes -= entry.bytes;
  }

  return {
    /** Returns the answer, or null if there is none or it has expired. */
    get(key: string): CachedAnswer | null {
      const entry = entries.get(key);
      if (entry === undefined) return null;
      const time = now();
      if (time >= entry.expiresAt) {
        drop(key, entry);
        return null;
      }
      // A map iterates in insertion order, so its first key is the least recently used.
      entries.delete(key);
      entries.set(key, entry);
      return { answer: entry.answer, age: Math.floor((time - entry.storedAt) / 1000) };
    },
    /** Keeps an answer for this many seconds; 0 keeps nothing. */
    put(key: string, answer: DnsAnswer, seconds: number): void {
      const before = entries.get(key);
      if (before !== undefined) drop(key, before);
      if (seconds <= 0) return;
      const time = now();
      const entry = {
        answer,
        storedAt: time,
        expiresAt: time + seconds * 1000,
        bytes: answer.records.length + answer.ttlOffsets.length * 8 + key.length + ENTRY_BYTES,
      };
      if (entry.bytes > limits.bytes) return;
      entries.set(key, entry);
      bytes += entry.bytes;
      for (const [oldest, old] of entries) {
        if (entries.size <= limits.entries && bytes <= limits.bytes) break;
        drop(oldest, old);
      }
    },
    get size() {
      return entries.size;
    },
    /** The approximate size of the entries in bytes. */
    get bytes() {
      return bytes;
    },
  };
}
