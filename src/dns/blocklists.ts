import { setImmediate } from 'node:timers/promises';
import type { ClockPort, LogPort } from '../core/ports.js';
import { isUrl, urlWithoutZone } from '../wire/dns-values.js';
import { type Blocklist, createBlocklist, EMPTY_BLOCKLIST, type NamedList } from './blocklist.js';
import { reasonOf } from './failure-reason.js';
import { type LineReader, readOlderLine } from './line-rules.js';
import { createListReader, ListError } from './list-lines.js';
import { ListSkipped, listPlace } from './list-place.js';
import { countBlocked, createListRules, type ListRules, sizeOf } from './list-rules.js';
import { type ListConnections, openList } from './list-source.js';
import { type ListStore, NO_VALIDATORS, type Validators } from './list-store.js';

/** Bytes of a list that are read before the event loop may run other work. */
const SLICE_BYTES = 16 * 1024;
/** Milliseconds of reading before the event loop runs other work. */
const SLICE_MS = 1;
/** The most names in one list; they take some 200 MB of memory. */
const MOST_NAMES = 2_000_000;

/** The rules of a list, and its length. */
interface ReadList {
  readonly rules: ListRules;
  readonly bytes: number;
}

/**
 * Reads a list. It yields to the event loop after every millisecond, so that queries are answered while a list of
 * hundreds of thousands of lines loads. Rejects with `ListError` if the content is not a list or names nothing.
 */
export async function loadList(chunks: AsyncIterable<Buffer>, readLine: LineReader): Promise<ReadList> {
  const rules = createListRules();
  const reader = createListReader(rules, readLine);
  let bytes = 0;
  let resumedAt = performance.now();
  for await (const chunk of chunks) {
    bytes += chunk.length;
    for (let start = 0; start < chunk.length; start += SLICE_BYTES) {
      reader.push(chunk.subarray(start, start + SLICE_BYTES));
      if (namesIn(rules) > MOST_NAMES) throw new ListError(`it has more than ${MOST_NAMES} names`);
      if (performance.now() - resumedAt < SLICE_MS) continue;
      await setImmediate();
      resumedAt = performance.now();
    }
  }
  reader.end();
  if (namesIn(rules) === 0) throw new ListError('it has no names');
  return { rules, bytes };
}

function namesIn(rules: ListRules): number {
  return countBlocked(rules) + sizeOf(rules.excepted) + rules.addresses.size;
}

export interface ListState {
  /** The URL as the settings have it. */
  readonly listed: string;
  /** Without user, password and query. */
  readonly url: string;
  readonly names: number;
  readonly exceptions: number;
  /** The number of lines that are rules, and of those that are not understood. */
  readonly rules: number;
  readonly unsupported: number;
  readonly bytes: number;
  /** Milliseconds since the epoch at which its content arrived; null if never. */
  readonly fetchedAt: number | null;
  /** Why the last refresh kept its old content, or why it is skipped; null otherwise. */
  readonly error: string | null;
  /** True if its URL leads to a place that is never read; it has no names until the settings change. */
  readonly skipped: boolean;
}

/** The configured lists and the names that they block. */
export type Blocklists = ReturnType<typeof createBlocklists>;

export interface BlocklistsOptions {
  readonly store: ListStore;
  readonly clock: ClockPort;
  readonly log: LogPort;
  /** Only files below this folder are lists; null allows none. */
  readonly listFolder: string | null;
  readonly mostBytes: number;
  /** Milliseconds that one list may take. */
  readonly listTimeout: number;
}

/** The purpose of each list by its URL, rules from outside the lists, and the reader of lines. */
export interface ListArrangement {
  readonly readLine: LineReader;
  readonly lists: ReadonlyMap<string, { readonly name: string; readonly isAllowing: boolean }>;
  readonly own: readonly NamedList[];
}

interface LoadedList {
  readonly rules: ListRules | null;
  readonly bytes: number;
  /** The server's validators for these rules; a refresh that was given up may have left a later copy. */
  readonly validators: Validators;
  /** The reader that its lines were read with. */
  readonly readBy: LineReader | null;
  readonly fetchedAt: number | null;
  readonly error: string | null;
  readonly skipped: boolean;
}

const NOT_LOADED: LoadedList = {
  rules: null,
  bytes: 0,
  validators: NO_VALIDATORS,
  readBy: null,
  fetchedAt: null,
  error: null,
  skipped: false,
};
/** Milliseconds for which the copy of a list is kept after its removal from the settings. */
const UNUSED_COPY_MS = 30 * 24 * 3_600_000;
const AT_ONCE = 4;

/** Creates lists that block nothing yet. */
export function createBlocklists(options: BlocklistsOptions) {
  const { store, clock, log } = options;
  let lists: ReadonlyMap<string, LoadedList> = new Map();
  let blocklist: Blocklist = EMPTY_BLOCKLIST;
  let refreshedAt: number | null = null;
  let arranged: ListArrangement = { lists: new Map(), own: [], readLine: readOlderLine };
  let running: Running | null = null;

  /** Returns the refresh under way if it is for these lists and uses the present reader of lines. */
  const runningOf = (key: string): Running | null =>
    running?.key === key && running.readBy === arranged.readLine ? running : null;

  function publish(next: ReadonlyMap<string, LoadedList>): void {
    lists = next;
    // In the order of the settings, which decides the source of a rule in several lists.
    const named = [...arranged.lists].flatMap(([url, purpose]): NamedList[] => {
      const { rules = null, readBy = null } = next.get(url) ?? {};
      return rules === null || readBy !== arranged.readLine ? [] : [{ ...purpose, rules }];
    });
    blocklist = createBlocklist([...named, ...arranged.own]);
  }

  function skip(url: string, { message }: ListSkipped): LoadedList {
    const before = lists.get(url) ?? NOT_LOADED;
    if (message !== before.error) log.warn({ list: shownUrl(url), reason: message }, 'a blocklist is skipped');
    return { ...NOT_LOADED, error: message, skipped: true };
  }

  async function restoreOne(url: string): Promise<LoadedList> {
    const present = lists.get(url) ?? NOT_LOADED;
    const readBy = arranged.readLine;
    const place = await listPlace(url, options.listFolder).catch((error: unknown) => error);
    if (place instanceof ListSkipped) return skip(url, place);
    if (present.rules !== null && present.readBy === readBy) return present;
    try {
      const copy = await store.find(url);
      if (copy === null) return present;
      const { validators, fetchedAt } = copy;
      return { ...NOT_LOADED, ...(await loadList(copy.chunks(), readBy)), validators, readBy, fetchedAt };
    } catch (error) {
      log.warn({ list: shownUrl(url), reason: reasonOf(error) }, 'the kept copy of a blocklist cannot be read');
      return present;
    }
  }

  async function refreshOne(url: string, connections: ListConnections, signal: AbortSignal): Promise<LoadedList> {
    const before = lists.get(url) ?? NOT_LOADED;
    try {
      const hasRules = before.rules !== null && before.readBy === arranged.readLine;
      const isKept = hasRules && (await store.find(url)) !== null;
      const known = isKept ? before.validators : NO_VALIDATORS;
      const fetched = await fetchOne(url, { connections, signal, known });
      return fetched ?? { ...before, error: null, skipped: false };
    } catch (error) {
      if (error instanceof ListSkipped) return skip(url, error);
      const reason = reasonOf(signal.aborted ? signal.reason : error);
      if (reason !== GIVEN_UP && reason !== before.error) {
        const kept = before.rules === null ? 0 : countBlocked(before.rules);
        log.warn({ list: shownUrl(url), reason, kept }, 'a blocklist could not be refreshed: its last good names stay');
      }
      return { ...before, error: reason, skipped: false };
    }
  }

  /** Returns the list's new content, or null if it has not changed. */
  async function fetchOne(url: string, { connections, signal, known }: Fetching): Promise<LoadedList | null> {
    const { mostBytes, listFolder } = options;
    const how = { connections, signal, mostBytes, listFolder };
    const content = await openList(url, known, how);
    if (content.kind === 'unchanged') return null;
    const draft = await store.draft(url);
    try {
      const readBy = arranged.readLine;
      const read = await loadList(written(content.chunks, draft.write), readBy);
      signal.throwIfAborted();
      const { validators } = content;
      await draft.keep(validators);
      return { ...NOT_LOADED, ...read, validators, readBy, fetchedAt: clock.now() };
    } catch (error) {
      await draft.discard();
      throw error;
    }
  }

  async function refreshAll(
    urls: readonly string[],
    connections: ListConnections,
    abort: AbortController,
  ): Promise<void> {
    const next = new Map<string, LoadedList>();
    const waiting = [...urls];
    const worker = async (): Promise<void> => {
      for (let url = waiting.shift(); url !== undefined; url = waiting.shift()) {
        const ended = new AbortController();
        const signal = AbortSignal.any([abort.signal, deadline(options.listTimeout), ended.signal]);
        next.set(url, await refreshOne(url, connections, signal));
        // A list that was not read to its end would stay open.
        ended.abort();
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    if (abort.signal.aborted) return;
    publish(new Map(urls.map((url) => [url, next.get(url) ?? NOT_LOADED])));
    await store.tidy(urls, UNUSED_COPY_MS).catch(() => undefined);
    // Set after everything else: a caller that sees the refresh ended may ask for another, which must not join this
    // one.
    refreshedAt = clock.now();
    const rules = [...next.values()].flatMap((list) => list.rules ?? []);
    const names = rules.reduce((sum, each) => sum + countBlocked(each), 0);
    const unsupported = rules.reduce((sum, each) => sum + each.unsupported, 0);
    log.info({ lists: urls.length, names, unsupported }, 'the blocklists are refreshed');
  }

  async function giveUp(): Promise<void> {
    running?.abort.abort(new Error(GIVEN_UP));
    await running?.done;
  }

  return {
    /** Returns the present rules; a refresh replaces the object. */
    current: (): Blocklist => blocklist,
    /** Applies names and purposes of lists, and rules from outside the lists, from now on. */
    arrange(arrangement: ListArrangement): void {
      arranged = arrangement;
      publish(lists);
    },
    states: (): readonly ListState[] => [...lists].map(([url, list]) => stateOf(url, list)),
    /** Returns when the last refresh ended, in milliseconds since the epoch; null before the first. */
    refreshedAt: (): number | null => refreshedAt,
    isRefreshing: (): boolean => running !== null,
    /** Loads the last good copies, so that blocking needs no network. Resolves when they block. */
    async restore(urls: readonly string[]): Promise<void> {
      const { unique, key } = identified(urls);
      if (runningOf(key) === null) await giveUp();
      const restored = await Promise.all(unique.map(async (url) => [url, await restoreOne(url)] as const));
      publish(new Map(restored));
    },
    /**
     * Fetches the lists again and replaces their rules, all at once. A refresh under way is joined if it is for the
     * same lists, otherwise aborted. Never rejects: a list that fails keeps its last good content. A reason is logged
     * once, until it changes.
     */
    async refresh(urls: readonly string[], connections: ListConnections): Promise<void> {
      const { unique, key } = identified(urls);
      const present = runningOf(key);
      if (present !== null) return present.done;
      const before = giveUp();
      const abort = new AbortController();
      const done = before
        .then(() => refreshAll(unique, connections, abort))
        .finally(() => {
          if (running?.abort === abort) running = null;
        });
      running = { key, readBy: arranged.readLine, abort, done };
      return done;
    },
    close: giveUp,
  };
}

/** Removes repetitions, and returns a key for comparing sets of lists. */
function identified(urls: readonly string[]): { readonly unique: readonly string[]; readonly key: string } {
  const unique = [...new Set(urls)];
  return { unique, key: JSON.stringify(unique) };
}

/** A refresh that is under way. */
interface Running {
  readonly key: string;
  readonly readBy: LineReader;
  readonly abort: AbortController;
  readonly done: Promise<void>;
}

interface Fetching {
  readonly connections: ListConnections;
  readonly signal: AbortSignal;
  /** The validators of the present rules; none if the list has to come again. */
  readonly known: Validators;
}

const GIVEN_UP = 'the lists have changed';

/** Returns a signal that fires after `milliseconds` and does not keep the process alive. */
function deadline(milliseconds: number): AbortSignal {
  const abort = new AbortController();
  setTimeout(() => abort.abort(new Error('it takes too long')), milliseconds).unref();
  return abort.signal;
}

async function* written(
  chunks: AsyncIterable<Buffer>,
  write: (chunk: Buffer) => Promise<void>,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    await write(chunk);
    yield chunk;
  }
}

function stateOf(url: string, { rules, bytes, fetchedAt, error, skipped }: LoadedList): ListState {
  return {
    listed: url,
    url: shownUrl(url),
    names: rules === null ? 0 : countBlocked(rules),
    exceptions: rules === null ? 0 : sizeOf(rules.excepted),
    rules: rules?.rules ?? 0,
    unsupported: rules?.unsupported ?? 0,
    bytes,
    fetchedAt,
    error,
    skipped,
  };
}

/** Returns a list's URL for logs and metrics: user, password and query can be secrets. */
function shownUrl(url: string): string {
  const bare = urlWithoutZone(url);
  if (!isUrl(bare)) return 'no URL';
  const { protocol, host, pathname } = new URL(bare);
  return `${protocol}//${host}${pathname}`;
}
