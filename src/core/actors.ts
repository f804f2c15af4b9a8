import type { MaybeAsync } from './maybe-async.js';
import type { ClockPort } from './ports.js';
import type { Principal } from './principal.js';

/** The subject of a change: a key, or the settings without keys. */
export type Changed = string | typeof SETTINGS;

export const SETTINGS = Symbol('settings');

/** Milliseconds after a change was made; another gateway may be long in taking over the writing of events. */
const REMEMBERED = 15_000;
const MOST = 100_000;

/** Remembers for some seconds who changed what, so that events tell it. */
export class Actors {
  readonly #clock: Pick<ClockPort, 'monotonic'>;
  /** In the order of the times until which they are remembered. */
  readonly #changed = new Map<Changed, { readonly by: string; readonly until: number }>();
  /** The names of those who change something just now, who began last at the end. */
  readonly #changing = new Map<Changed, readonly string[]>();

  constructor(clock: Pick<ClockPort, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Makes a change for a caller, who is its actor until some seconds after it was made. A null caller is not known. */
  async during<T>(caller: Principal | null, changed: readonly Changed[], change: () => MaybeAsync<T>): Promise<T> {
    if (caller === null) return change();
    const { name } = caller;
    for (const each of changed) this.#changing.set(each, [...(this.#changing.get(each) ?? []), name]);
    try {
      const made = await change();
      this.did(caller, changed);
      return made;
    } finally {
      for (const each of changed) this.#ended(each, name);
    }
  }

  #ended(changed: Changed, name: string): void {
    const names = this.#changing.get(changed) ?? [];
    const left = names.toSpliced(names.indexOf(name), 1);
    if (left.length === 0) this.#changing.delete(changed);
    else this.#changing.set(changed, left);
  }

  /** Notes who has just made a change. */
  did(caller: Principal | null, changed: readonly Changed[]): void {
    if (caller === null) return;
    const now = this.#clock.monotonic();
    for (const each of changed) {
      this.#changed.delete(each);
      this.#changed.set(each, { by: caller.name, until: now + REMEMBERED });
    }
    for (const [oldest, { until }] of this.#changed) {
      if (until > now && this.#changed.size <= MOST) break;
      this.#changed.delete(oldest);
    }
  }

  /** Forgets who has made changes, because that was told. */
  forget(changed: readonly Changed[]): void {
    for (const each of changed) this.#changed.delete(each);
  }

  /** Returns the name of the credential that changes something, or changed it just now; null where that is not known. */
  of(changed: Changed): string | null {
    const made = this.#changed.get(changed);
    return (
      this.#changing.get(changed)?.at(-1) ??
      (made !== undefined && made.until > this.#clock.monotonic() ? made.by : null)
    );
  }
}
