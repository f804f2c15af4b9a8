import { effectOf, isSafe, keyIn, keysNamed, makesKeys, matchRequest } from '../replay/format/effects.js';
import { decompressed } from '../replay/record/describe.js';
import { readExchange } from '../replay/record/passed-heads.js';
import type { PassingWatch, ProxiedExchange, ProxiedRequest, UnreadExchange } from '../replay/record/proxy.js';
import { dataIn, isJsonObject, jsonIn } from '../wire/json/json.js';
import type { Subject } from '../wire/operations/operation.js';

/** The keys and subjects that writes may have touched. `keys` is a subject where nobody can name the keys. */
export interface Touched {
  readonly keys: readonly string[];
  readonly subjects: readonly Subject[];
}

/** The part of an exchange that decides whether two answers can be held together. */
interface Timing {
  /** Milliseconds of the machine's own clock, which all threads share. */
  readonly startedAt: number;
  /** All that writes under way at the same time may have touched. */
  readonly beside: Touched;
}

/** An exchange with the target. */
export interface Passed extends ProxiedExchange, Timing {}

/** The same, before anybody has read its heads. */
export interface UnreadPassed extends UnreadExchange, Timing {}

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
  /** The requests under way in the order of their beginnings. */
  readonly #open = new Map<number, { readonly beganAt: number; readonly request: ProxiedRequest }>();
  readonly #writing = new Map<number, Touched>();
  /** Writes that ended since the oldest of these began, in the order of their ends. */
  readonly #ended: Ended[] = [];
  #weight = 0;
  /** The end of the last write that there was no room for. */
  #forgottenAt = 0;

  begin(request: ProxiedRequest): void {
    this.#time += 1;
    const { sequence, method, path } = request;
    this.#open.set(sequence, { beganAt: this.#time, request });
    if (isSafe(method)) return;
    const matched = matchRequest({ method, path, root: 'server' });
    if (effectOf({ method, path }, matched).kind === 'reads') return;
    const [key, subjects] = [matched && keyIn(matched), [matched?.operation.subject ?? 'other']];
    this.#writing.set(sequence, key === null ? { keys: [], subjects } : { keys: [key], subjects: [] });
  }

  /** Takes the end of a request; what it wrote is known more exactly where an exchange is given. */
  end(sequence: number, exchange: UnreadExchange | null): Touched {
    this.#time += 1;
    const { beganAt, request } = this.#open.get(sequence) ?? { beganAt: this.#time, request: null };
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
    const key = keys.length === 0 || request === null ? null : keyOf(request);
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

/** The key in a request's path, if it has one there. */
function keyOf({ method, path }: ProxiedRequest): string | null {
  const matched = matchRequest({ method, path, root: 'server' });
  return matched === null ? null : keyIn(matched);
}

function weightOf({ keys }: Touched): number {
  return 1 + keys.length;
}

/** Returns what a write has touched, of which `known` is known by its head. */
function touchedBy(exchange: UnreadExchange, known: Touched): Touched {
  const { status, requestBody, responseBody } = exchange;
  if (status >= 400 && status < 500) return { keys: [], subjects: [] };
  if (status >= 500 || requestBody.length + responseBody.length > MOST_READ) return known;
  const keys = keysWritten(readExchange(exchange));
  return keys.length === 0 ? known : { keys, subjects: [] };
}

/** Bytes and requests that may wait for the shadow, in all. */
const MOST_BYTES = 64 * 1024 * 1024;
const MOST_REQUESTS = 10_000;
/** Bytes of an exchange above which one at a time is kept, at most every so many milliseconds. */
export const LARGE = 1024 * 1024;
const LARGE_EVERY = 30_000;

/** Why an exchange was not kept for the shadow. */
export type Dropped =
  | 'the queue is full'
  | 'above 1 MiB, of which one in 30 s is looked at'
  | 'no whole answer'
  | 'nothing was compared any more';

/** Is told once what becomes of a request. */
interface Follower {
  /** Takes the exchange, which waits for the shadow from now on. */
  passed(exchange: UnreadExchange): void;
  /** Takes why nothing comes of it here. */
  dropped(why: Dropped): void;
}

/** The bound of what is kept for the shadow: what does not fit is dropped, and the client never waits. */
export class Backlog {
  #bytes = 0;
  /** Bytes of each exchange that waits for the shadow, in their order, with what its pieces took besides. */
  readonly #waiting: number[] = [];
  /** Requests of which something is kept; the one of which nothing came for longest first. */
  readonly #underWay = new Set<Watched>();
  #largeAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  watch(follower: Follower): PassingWatch {
    return new Watched(this, follower);
  }

  /** Tells why so many bytes more of a request are not kept; null where they are. */
  takes(request: Watched, bytes: number): Dropped | null {
    if (this.#isClosed) return 'nothing was compared any more';
    const isLarge = request.bytes <= LARGE && request.bytes + bytes > LARGE;
    if (isLarge && !this.#admitsLarge()) return 'above 1 MiB, of which one in 30 s is looked at';
    this.#underWay.delete(request);
    if (this.#waiting.length >= MOST_REQUESTS || !this.#hasRoom(bytes)) return 'the queue is full';
    this.#bytes += bytes;
    this.#underWay.add(request);
    return null;
  }

  /** Counts that nothing of a request is kept any more. */
  forget(request: Watched): void {
    this.#underWay.delete(request);
    this.#bytes -= request.bytes;
  }

  /** Counts the exchange of a request among those that wait for the shadow. */
  waits(request: Watched): void {
    this.#underWay.delete(request);
    this.#waiting.push(request.bytes);
  }

  /** Keeps nothing any more. */
  close(): void {
    this.#isClosed = true;
  }

  /** Counts the first so many exchanges no more. */
  done(requests: number): void {
    for (const bytes of this.#waiting.splice(0, requests)) this.#bytes -= bytes;
  }

  /** Makes room, where there is none, by what is still under way. */
  #hasRoom(bytes: number): boolean {
    for (const request of this.#underWay) {
      if (this.#bytes + bytes <= MOST_BYTES) break;
      request.giveUp('the queue is full');
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

const NOTHING_TO_RELEASE = () => undefined;

/** A request while it passes. */
class Watched implements PassingWatch {
  readonly #backlog: Backlog;
  readonly #follower: Follower;
  #letGo: () => void = NOTHING_TO_RELEASE;
  #why: Dropped | null = null;
  /** Bytes that are kept of it. */
  bytes = 0;

  constructor(backlog: Backlog, follower: Follower) {
    this.#backlog = backlog;
    this.#follower = follower;
  }

  keeps(bytes: number, letGo: () => void): boolean {
    if (this.#why !== null) return false;
    this.#letGo = letGo;
    const why = this.#backlog.takes(this, bytes);
    if (why === null) this.bytes += bytes;
    else this.giveUp(why);
    return why === null;
  }

  giveUp(why: Dropped): void {
    this.#why = why;
    this.#backlog.forget(this);
    this.bytes = 0;
    this.#letGo();
  }

  passed(exchange: UnreadExchange): void {
    this.#backlog.waits(this);
    this.#follower.passed(exchange);
  }

  unkept(): void {
    if (this.#why === null) this.giveUp('no whole answer');
    this.#follower.dropped(this.#why ?? 'no whole answer');
  }
}
