import { decoded, effectOf, keysNamed, makesKeys, matchRequest } from '../replay/format/effects.js';
import { decompressed } from '../replay/record/describe.js';
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
  if (matched.keySegment !== null) return [decoded(matched.keySegment)];
  if (!makesKeys(matched.operation)) return [];
  const body = jsonIn(exchange.requestBody);
  const given = isJsonObject(body) && typeof body.access_key === 'string' ? [body.access_key] : [];
  return [...new Set([...given, ...keysNamed(dataIn(decompressed(exchange) ?? exchange.responseBody))])];
}

interface Write {
  /** Null while it is under way. */
  endedAt: number | null;
  touched: Touched;
}

/** Tells which writes overlap which requests. */
export class WritesBeside {
  #time = 0;
  /** The requests under way with their beginnings, in that order. */
  readonly #open = new Map<number, number>();
  readonly #writes = new Map<number, Write>();

  begin({ sequence, method, path }: ProxiedRequest): void {
    this.#time += 1;
    this.#open.set(sequence, this.#time);
    const request = { method, path, root: 'server' as const };
    if (effectOf(request).kind === 'reads') return;
    const matched = matchRequest(request);
    const key = matched?.keySegment ?? null;
    const touched = key === null ? { keys: [], subjects: [matched?.operation.subject ?? 'other'] } : onKeys([key]);
    this.#writes.set(sequence, { endedAt: null, touched });
  }

  /** Takes the end of a request; what it wrote is known more exactly where an exchange is given. */
  end(sequence: number, exchange: ProxiedExchange | null): Touched {
    this.#time += 1;
    const beganAt = this.#open.get(sequence) ?? this.#time;
    this.#open.delete(sequence);
    const own = this.#writes.get(sequence);
    if (own !== undefined) {
      own.endedAt = this.#time;
      const keys = exchange === null ? [] : keysWritten(exchange);
      if (keys.length > 0) own.touched = onKeys(keys);
    }
    const others = [...this.#writes].filter(
      ([each, { endedAt }]) => each !== sequence && (endedAt ?? beganAt) >= beganAt,
    );
    const [oldest = this.#time] = this.#open.values();
    for (const [each, { endedAt }] of this.#writes) if (endedAt !== null && endedAt < oldest) this.#writes.delete(each);
    return {
      keys: others.flatMap(([, { touched }]) => touched.keys),
      subjects: others.flatMap(([, { touched }]) => touched.subjects),
    };
  }
}

function onKeys(keys: readonly string[]): Touched {
  return { keys: keys.map(decoded), subjects: [] };
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

/** The bound of what waits for the shadow: what does not fit is dropped, and the client never waits. */
export class Backlog {
  #bytes = 0;
  #requests = 0;
  #largeAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  /** Follows one request; `dropped` is told once where nothing of it comes here. */
  watch(dropped: (why: Dropped) => void): PassingWatch {
    let taken = 0;
    let why: Dropped | null = null;
    const giveUp = (reason: Dropped) => {
      why = reason;
      this.#bytes -= taken;
      taken = 0;
    };
    return {
      keeps: (bytes) => {
        if (this.#isClosed) giveUp('nothing was compared any more');
        else if (this.#bytes + bytes > MOST_BYTES || this.#requests >= MOST_REQUESTS) giveUp('the queue is full');
        else if (taken <= LARGE && taken + bytes > LARGE && !this.#admitsLarge())
          giveUp('above 1 MiB, of which one in 30 s is looked at');
        if (why !== null) return false;
        taken += bytes;
        this.#bytes += bytes;
        return true;
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

  /** One exchange more waits. */
  add(): void {
    this.#requests += 1;
  }

  /** So many exchanges of so many bytes wait no more. */
  done({ requests, bytes }: { readonly requests: number; readonly bytes: number }): void {
    this.#requests -= requests;
    this.#bytes -= bytes;
  }

  #admitsLarge(): boolean {
    const now = machineTime();
    if (now - this.#largeAt < LARGE_EVERY) return false;
    this.#largeAt = now;
    return true;
  }
}
