import { readFileSync } from 'node:fs';
import { copyFile, open, readFile, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../src/wire/json/json.js';
import type { Behaviour } from './behaviour.js';
import { parseConfiguration, readAtReload, rootListOf } from './configuration.js';
import type { Memory } from './memory.js';
import { serverJson } from './server-json.js';

/** The server's configuration file, read and written as carelessly as real servers do: no lock, no file beside it. */
export interface ServerFile {
  /** The bytes as they stand. */
  read(): Promise<Buffer>;
  /** Replaces the file by this value. */
  write(value: JsonValue): Promise<void>;
  /** Writes all keys of memory into what stands in the file, where the line does that. Rejects when that cannot be read or written. */
  saveKeys(): Promise<void>;
  /** Replaces a member of the file's root, or of an object in it. */
  saveMember(path: readonly string[], value: JsonValue): Promise<void>;
  /** The same, with a copy beside it of the file as it was before. */
  saveMemberWithBackup(path: readonly string[], value: JsonValue): Promise<void>;
  /** Writes rules into the file as the line does. */
  saveRules(rules: JsonValue): Promise<void>;
  /** Reads the keys anew where the file has changed since it was last looked at; what is broken is left for the next time. */
  reload(): Promise<void>;
  /** Writes that are under way. */
  settled(): Promise<void>;
}

/** Where a server gives way to others between two steps that belong together. */
export type Step = 'save: read' | 'rules: asked' | 'write: truncated' | 'reload: read' | 'reload: parsed';

export type Pause = (at: Step) => Promise<void>;

/** Pauses of up to `longest` milliseconds, the same ones for the same seed; null for none. */
export function createPauses(seed: number, longest: number): Pause | null {
  if (longest === 0) return null;
  let state = (seed ^ 0x9e3779b9) >>> 0;
  const next = () => {
    // A linear congruence (Numerical Recipes).
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  return async () => {
    await sleep(next() * longest);
  };
}

/**
 * Without pauses nothing falls between two steps of a reload: a real server needs microseconds for what takes a stand-in
 * milliseconds, and its clients are not to meet every day what they meet once in thousands of writes.
 */
export function createServerFile(path: string, behaviour: Behaviour, memory: Memory, pauses: Pause | null): ServerFile {
  const pause: Pause = pauses ?? (async () => undefined);
  let seen: bigint | null = null;
  const open = new Set<Promise<void>>();
  const tracked = <A extends readonly unknown[]>(work: (...args: A) => Promise<void>) => {
    return (...args: A): Promise<void> => {
      const begun = work(...args);
      open.add(begun);
      const end = () => open.delete(begun);
      begun.then(end, end);
      return begun;
    };
  };
  const readRoot = async (): Promise<JsonObject> => {
    const root = parseConfiguration(await readFile(path));
    if (!isJsonObject(root)) throw new Error('the root is no object');
    return root;
  };
  // Whoever reads may find the file truncated. Two that write at once would leave a mixture of both, which takes a real server
  // microseconds to hit: with pauses here it would be no rarity, so that they write one after the other.
  let last: Promise<void> = Promise.resolve();
  const write = (text: string): Promise<void> => {
    const mine = last.then(() => writeCarelessly(path, text, pause));
    last = mine.catch(() => undefined);
    return mine;
  };
  const replaceKeys = (keys: Parameters<Memory['replaceKeys']>[0]): void => {
    memory.replaceKeys(keys);
    if (behaviour.later.countsSessions) memory.completeCounters();
  };
  return {
    read: () => readFile(path),
    write: tracked((value) => write(serverJson(value))),
    saveKeys: tracked(async () => {
      if (!behaviour.storesKeys) return;
      const root = await readRoot();
      await pause('save: read');
      await write(serverJson({ ...root, access_keys: rootListOf(memory.keys()) }));
    }),
    saveMember: tracked(async (members, value) => write(serverJson(withMember(await readRoot(), members, value)))),
    saveMemberWithBackup: tracked(async (members, value) => {
      await copyFile(path, path.replace(/\.[^./]*$/, '.json.bak'));
      await write(serverJson(withMember(await readRoot(), members, value)));
    }),
    saveRules: tracked(async (rules) => {
      await pause('rules: asked');
      const root = parsedOrNull(await readFile(path));
      if (root === null) await write('null');
      else if (behaviour.rulesWrite === 'stores')
        await write(serverJson(withMember(root, ['outbound', 'rules'], rules)));
    }),
    async reload() {
      const changed = await stat(path, { bigint: true }).then(
        ({ mtimeNs }) => mtimeNs,
        () => null,
      );
      if (changed === null || changed === seen) return;
      seen = changed;
      if (pauses === null) {
        while (open.size > 0) await Promise.allSettled(open);
        const keys = orNull(() => readAtReload(parseConfiguration(readFileSync(path)), behaviour));
        if (keys !== null) replaceKeys(keys);
        return;
      }
      const read = await readFile(path).catch(() => null);
      if (read === null) return;
      await pause('reload: read');
      const keys = orNull(() => readAtReload(parseConfiguration(read), behaviour));
      await pause('reload: parsed');
      if (keys !== null) replaceKeys(keys);
    },
    settled: async () => {
      await Promise.allSettled(open);
    },
  };
}

/** Truncates first and writes then: whoever reads in between finds nothing. */
async function writeCarelessly(path: string, text: string, pause: Pause): Promise<void> {
  const file = await open(path, 'w');
  try {
    await pause('write: truncated');
    await file.writeFile(text);
  } finally {
    await file.close();
  }
}

/** What a parser that knows no comments makes of them. */
function parsedOrNull(bytes: Buffer): JsonObject | null {
  const value = orNull(() => parseJson(bytes, { duplicates: 'last' })) ?? undefined;
  return isJsonObject(value) ? value : null;
}

function orNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

function withMember(root: JsonObject, [name = '', ...rest]: readonly string[], value: JsonValue): JsonObject {
  const inner = root[name];
  if (rest.length === 0) return { ...root, [name]: value };
  return { ...root, [name]: withMember(isJsonObject(inner) ? inner : {}, rest, value) };
}
