import { effectOf, keyIn, keysNamed, makesKeys, matchRequest } from '../replay/format/effects.js';
import { decompressed, type PassedExchange } from '../replay/record/describe.js';
import { headLength } from '../replay/record/passed-heads.js';
import type { PassingWatch, ProxiedExchange, ProxiedRequest } from '../replay/record/proxy.js';
import { dataIn, isJsonObject, jsonIn } from '../wire/json/json.js';
import type { Subject } from '../wire/operations/operation.js';

/** The keys and subjects that writes may have touched. `keys` is a subject where nobody can name the keys. */
export interface Touched {
  readonly keys: readonly string[];
  readonly subjects: readonly Subject[];
}

/** An exchange with the target, with what of it decides whether two answers can be held together. */
export interface Passed extends ProxiedExchange {
  /** Milliseconds of the machine's own clock, which all threads share. */
  readonly startedAt: number;
  /** All that writes under way at the same time may have touched. */
  readonly beside: Touched;
}

/** Milliseconds of a clock that all threads of this machine share. */
export function machineTime(): number {
  return performance.timeOrigin + performance.now();
}

/** The keys that a write names, in its path, body or answer. */
export function keysWritten(exchange: ProxiedExchange): readonly string[] {
  const matched = matchRequest({ ...exchange, root: 'server' });
  if (matched === null) return [];
  const key = keyIn(matched);
  if (key !== null) return [key];
  if (!makesKeys(matched.operation)) return [];
  const body = jsonIn(exchange.requestBody);
  const given = isJsonObject(body) && typeof body.access_key === 'string' ? [body.access_key] : [];
  return [...new Set([...given, ...keysNamed(dataIn(decompressed(exchange) ?? exchange.responseBody))])];
}

interface Ended {
  readonly at: number;
  readonly touched: Touched;
}

/** The most ended writes, and keys of theirs, that are kept for requests still under way. */
const MOST_ENDED = 10_000;
/** Bytes of a write above which nobody looks for the keys that it made: clients would wait for it. */
const MOST_READ = 64 * 1024;

/** Tells which writes overlap which requests. */
export class WritesBeside {
  #time = 0;
  /** The requests under way in the order of their beginnings, with the key in their path. */
  readonly #open = new Map<number, { readonly beganAt: number; readonly key: string | null }>();
  readonly #writing = new Map<number, Touched>();
  /** Writes that ended since the oldest of these began, in the order of their ends. */
  readonly #ended: Ended[] = [];
  #weight = 0;
  /** The end of the last write that there was no room for. */
  #forgottenAt = 0;

  begin({ sequence, method, path }: ProxiedRequest): void {
    this.#time += 1;
    const request = { method, path, root: 'server' as const };
    const matched = matchRequest(request);
    const key = matched === null ? null : keyIn(matched);
    this.#open.set(sequence, { beganAt: this.#time, key });
    if (effectOf(request, matched).kind === 'reads') return;
    const subjects = [matched?.operation.subject ?? 'other'];
    this.#writing.set(sequence, key === null ? { keys: [], subjects } : { keys: [key], subjects: [] });
  }

  /** Takes the end of a request; what it wrote is known more exactly where an exchange is given. */
  end(sequence: number, exchange: ProxiedExchange | null): Touched {
    this.#time += 1;
    const { beganAt, key } = this.#open.get(sequence) ?? { beganAt: this.#time, key: null };
    const written = this.#writing.get(sequence);
    this.#open.delete(sequence);
    this.#writing.delete(sequence);
    const ended = this.#ended.slice(this.#ended.findLastIndex(({ at }) => at < beganAt) + 1);
    const others = [...this.#writing.values(), ...ended.map(({ touched }) => touched)];
    const keys = others.flatMap((touched) => touched.keys);
    const subjects = new Set(others.flatMap((touched) => touched.subjects));
    // A configuration touches everything.
    if (beganAt < this.#forgottenAt) subjects.add('configuration');
    if (written !== undefined) this.#keep(exchange === null ? written : touchedBy(exchange, written));
    // Of a request of one key only that matters.
    return { keys: key === null ? keys : keys.filter((each) => each === key), subjects: [...subjects] };
  }

  #keep(touched: Touched): void {
    const [oldest] = this.#open.values();
    if (touched.keys.length + touched.subjects.length > 0) {
      this.#ended.push({ at: this.#time, touched });
      this.#weight += weightOf(touched);
    }
    for (let first = this.#ended[0]; first !== undefined; first = this.#ended[0]) {
      const isNeeded = oldest !== undefined && first.at >= oldest.beganAt;
      if (isNeeded && this.#weight <= MOST_ENDED) break;
      if (isNeeded) this.#forgottenAt = first.at;
      this.#weight -= weightOf(first.touched);
      this.#ended.shift();
    }
  }
}

function weightOf({ keys }: Touched): number {
  return 1 + keys.length;
}

/** Returns what a write has touched, of which `known` is known by its head. */
function touchedBy(exchange: ProxiedExchange, known: Touched): Touched {
  const { status, requestBody, responseBody } = exchange;
  if (status >= 400 && status < 500) return { keys: [], subjects: [] };
  if (status >= 500 || requestBody.length + responseBody.length > MOST_READ) return known;
  const keys = keysWritten(exchange);
  return keys.length === 0 ? known : { keys, subjects: [] };
}

/** Bytes and requests that may wait for the shadow, in all. */
const MOST_BYTES = 64 * 1024 * 1024;
const MOST_REQUESTS = 10_000;
/** Bytes of an exchange above which one at a time is kept, at most every so many milliseconds. */
export const LARGE = 1024 * 1024;
const LARGE_EVERY = 30_000;

/** Bytes of an exchange that waits for the shadow. */
export function bytesOf({ path, requestHeaders, requestBody, responseHeaders, responseBody }: PassedExchange): number {
  return headLength(requestHeaders, path) + requestBody.length + headLength(responseHeaders) + responseBody.length;
}

/** Why an exchange was not kept for the shadow. */
export type Dropped =
  | 'the queue is full'
  | 'above 1 MiB, of which one in 30 s is looked at'
  | 'no whole answer'
  | 'nothing was compared any more';

/** The bound of what is kept for the shadow: what does not fit is dropped, and the client never waits. */
export class Backlog {
  #bytes = 0;
  #requests = 0;
  #largeAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  /** Gives up a request that is still under way; the one of which nothing came for longest first. */
  readonly #underWay = new Set<() => void>();

  /** Follows one request; `dropped` is told once where nothing of it comes here. */
  watch(dropped: (why: Dropped) => void): PassingWatch {
    let taken = 0;
    let why: Dropped | null = null;
    let release: () => void = () => undefined;
    const giveUp = (reason: Dropped) => {
      why = reason;
      this.#bytes -= taken;
      taken = 0;
      this.#underWay.delete(makeRoom);
      release();
    };
    const makeRoom = () => giveUp('the queue is full');
    return {
      keeps: (bytes, letGo) => {
        if (why !== null) return false;
        release = letGo;
        this.#underWay.delete(makeRoom);
        if (this.#isClosed) giveUp('nothing was compared any more');
        else if (taken <= LARGE && taken + bytes > LARGE && !this.#admitsLarge())
          giveUp('above 1 MiB, of which one in 30 s is looked at');
        else if (this.#requests >= MOST_REQUESTS || !this.#hasRoom(bytes)) makeRoom();
        if (why !== null) return false;
        taken += bytes;
        this.#bytes += bytes;
        this.#underWay.add(makeRoom);
        return true;
      },
      handedOut: (exchange) => {
        this.#underWay.delete(makeRoom);
        this.#bytes += bytesOf(exchange) - taken;
        this.#requests += 1;
      },
      unkept: () => {
        if (why === null) giveUp('no whole answer');
        dropped(why ?? 'no whole answer');
      },
    };
  }

  /** Keeps nothing any more. */
  close(): void {
    this.#isClosed = true;
  }

  /** So many exchanges of so many bytes wait no more. */
  done({ requests, bytes }: { readonly requests: number; readonly bytes: number }): void {
    this.#requests -= requests;
    this.#bytes -= bytes;
  }

  #hasRoom(bytes: number): boolean {
    for (const makeRoom of this.#underWay) {
      if (this.#bytes + bytes <= MOST_BYTES) break;
      makeRoom();
    }
    return this.#bytes + bytes <= MOST_BYTES;
  }

  #admitsLarge(): boolean {
    const now = machineTime();
    if (now - this.#largeAt < LARGE_EVERY) return false;
    this.#largeAt = now;
    return true;
  }
}
