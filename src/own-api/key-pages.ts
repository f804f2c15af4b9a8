import type { ClockPort } from '../core/ports.js';
import type { Place } from './key-changes.js';

/** A list that is read in pages. */
export interface Listing {
  /** The place at its first page's beginning. */
  readonly begun: Place;
  /** The place after which these are changes; null for a list of all keys. */
  readonly since: Place | null;
}

/** A page of changes as it is answered, with its last key where there may be more. */
export interface ChangesPage {
  readonly answer: { readonly payload: string };
  readonly next: string | null;
}

/** Milliseconds for which a page may wait for the next. */
const REMEMBERED = 300_000;
const MOST = 4_096;

/**
 * The lists that callers are reading, by the credential, the last key of a page and what they are of: each page tells
 * the cursor of the first.
 */
export class KeyPages {
  readonly #clock: Pick<ClockPort, 'monotonic'>;
  readonly #pages = new Map<string, Listing & { readonly until: number }>();

  constructor(clock: Pick<ClockPort, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Notes that a page of a list has ended with this key. */
  note(owner: string, last: string, listing: Listing): void {
    this.#put(nameOf(owner, last, listing.since), listing);
    if (listing.since !== null) this.#put(changesOf(owner, last), listing);
  }

  /**
   * The list that goes on behind a key, `since` a place where its caller says one; null where none is known. Who says
   * none goes on with a list of all keys rather than with changes, of which others might read other ones.
   */
  behind(owner: string, last: string, since: Place | null): Listing | null {
    const found = this.#get(nameOf(owner, last, since));
    return since === null ? (found ?? this.#get(changesOf(owner, last))) : found;
  }

  #put(name: string, listing: Listing): void {
    const now = this.#clock.monotonic();
    const before = this.#pages.get(name);
    // Of two that read the same, the earlier cursor is right for both: it tells more again.
    if (before !== undefined && before.until > now && before.begun.records <= listing.begun.records) return;
    this.#pages.delete(name);
    this.#pages.set(name, { ...listing, until: now + REMEMBERED });
    for (const [oldest, { until }] of this.#pages) {
      if (until > now && this.#pages.size <= MOST) break;
      this.#pages.delete(oldest);
    }
  }

  #get(name: string): Listing | null {
    const found = this.#pages.get(name);
    return found === undefined || found.until <= this.#clock.monotonic() ? null : found;
  }
}

const nameOf = (owner: string, last: string, since: Place | null): string =>
  JSON.stringify([owner, last, since === null ? null : [since.records, since.counters]]);

/** Returns the changes that were last read up to a key, for a caller who names none. */
const changesOf = (owner: string, last: string): string => JSON.stringify([owner, last, 'changes']);
