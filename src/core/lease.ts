import type { KeptRecords, RecordKind } from './kept-records.js';
import type { ClockPort } from './ports.js';

/** Milliseconds between two signs of life of a holder, and after which one that gives none has lost its lease. */
const RENEWAL = 2_000;
const EXPIRY = 10_000;

export interface LeaseOptions {
  readonly records: KeptRecords;
  readonly kind: RecordKind;
  readonly id: string;
  /** Names this gateway; no other has it. */
  readonly holder: string;
  readonly clock: Pick<ClockPort, 'monotonic'>;
  /** Called when this gateway has come to hold it. */
  readonly onHeld: () => void;
}

/**
 * Work of which one gateway of a state takes care at a time. A holder changes a record again and again; where it stands still
 * for too long by the clock of another one, that takes it over. No two clocks are compared.
 */
export class Lease {
  readonly #options: LeaseOptions;
  #seen: string | null = null;
  #seenAt = 0;
  #renewals = 0;
  #isHeld = false;
  #renewedAt = 0;
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  /** True while nobody else may take care of the work. */
  isHeld(): boolean {
    const { records, clock } = this.#options;
    if (!records.isShared) return true;
    return this.#isHeld && clock.monotonic() - this.#renewedAt < EXPIRY - RENEWAL;
  }

  start(): void {
    const { records, kind, id, clock, onHeld } = this.#options;
    if (!records.isShared) {
      onHeld();
      return;
    }
    this.#seen = records.of(kind).get(id) ?? null;
    this.#seenAt = clock.monotonic();
    void this.#tend();
  }

  /** Lets another gateway have it at once. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    const { records, kind, id } = this.#options;
    if (!this.#isHeld) return;
    this.#isHeld = false;
    await records.change([{ kind, id, body: null, expected: this.#seen }]).catch(() => undefined);
  }

  async #tend(): Promise<void> {
    try {
      await this.#look();
    } catch {
      // The records cannot be reached now; the lease ends by itself where that lasts.
    }
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.#tend(), RENEWAL).unref();
  }

  async #look(): Promise<void> {
    const { records, kind, id, holder, clock, onHeld } = this.#options;
    const present = records.of(kind).get(id) ?? null;
    const now = clock.monotonic();
    if (present !== this.#seen) {
      this.#seen = present;
      this.#seenAt = now;
      this.#isHeld = present?.startsWith(`"${holder} `) === true;
    }
    if (!this.#isHeld && present !== null && now - this.#seenAt < EXPIRY) return;
    this.#renewals += 1;
    const body = JSON.stringify(`${holder} ${this.#renewals}`);
    if (!(await records.change([{ kind, id, body, expected: present }]))) {
      this.#isHeld = false;
      return;
    }
    const isNew = !this.isHeld();
    [this.#seen, this.#seenAt, this.#renewedAt, this.#isHeld] = [body, now, now, true];
    if (isNew) onHeld();
  }
}
