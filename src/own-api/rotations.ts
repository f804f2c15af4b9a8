import { hash } from 'node:crypto';
import type { Backend } from '../core/backend.js';
import type { Core } from '../core/core.js';
import { DomainError, isInMemory } from '../core/errors.js';
import type { KeptRecords, RecordChange } from '../core/kept-records.js';
import { changeKey } from '../core/keys/change-key.js';
import type { KeyMakers } from '../core/keys/key-makers.js';
import type { KeyNotes } from '../core/keys/key-notes.js';
import { PerKeyQueue } from '../core/per-key-queue.js';
import type { ClockPort, LogPort, RandomPort } from '../core/ports.js';
import { OwnError } from './errors.js';
import { type Once, onceRecord } from './job-records.js';
import type { KeptAddresses } from './kept-addresses.js';

export interface RotationsOptions {
  readonly core: Pick<Core, 'key'>;
  readonly backend: Backend;
  readonly records: KeptRecords;
  readonly makers: KeyMakers;
  readonly notes: KeyNotes;
  readonly addresses: KeptAddresses;
  /** Called with each rotation that was made here. */
  readonly onRotated: (rotated: RotatedKey) => void;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly log: LogPort;
  /** True where this gateway is the one that ends old keys. */
  readonly isInCharge: () => boolean;
}

/** A rotation that was begun and is not done. Times are milliseconds since the epoch. */
interface KeptRotation {
  readonly old: string;
  readonly successor: string;
  readonly begunAt: number;
  /** Later than it was begun only where an older Keyway has given the old key a grace. */
  readonly endsAt: number;
  /** The new key has been there: from then on the old one ends, whatever becomes of the new one. */
  readonly isMade: boolean;
  /** A digest of what was asked for under an `Idempotency-Key`, whose record names the rotation; absent without one. */
  readonly digest?: string | undefined;
  /** The name of the credential that asked for it so. */
  readonly owner?: string | undefined;
}

/** A key that stands in the place of another. */
export interface RotatedKey {
  readonly accessKey: string;
  readonly successor: string;
}

/** A new key, and why it is in memory alone; null where it is saved. */
interface Rotated {
  readonly successor: string;
  readonly unsaved: DomainError | null;
}

/** The answer to a rotation, kept under its `Idempotency-Key` as a job is; `Jobs` removes it. */
interface KeptAnswer extends Required<Omit<Once, 'job'>> {
  readonly successor: string;
}

const KEY_BYTES = 16;
/** Milliseconds between two looks at rotations that are not done. */
const LOOK = 2_000;
/** Rotations that are begun and not done: those of a server that does not take them stay for a while. */
const MOST_BEGUN = 1_000;
/** Milliseconds after which a rotation whose new key never showed was not made. */
const UNMADE = 600_000;

/**
 * New secrets for keys. Where records are kept with the keys, a rotation is one transaction. Elsewhere it is begun as a
 * record, so that a crash leaves none half done.
 */
export class Rotations {
  readonly #options: RotationsOptions;
  /** Does one thing at a time for each rotation, by its id. */
  readonly #queue = new PerKeyQueue();
  /** When rotations that are not made were first looked after; monotonic, ms. */
  readonly #seenAt = new Map<string, number>();
  #looking: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #isFailing = false;

  constructor(options: RotationsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.#look(), LOOK).unref();
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#looking;
  }

  /**
   * Gives a key a new secret and resolves to that; under an `Idempotency-Key` that was used before, to the one of then.
   * Rejects with `userNotFound`, with `idempotencyKeyReused`, and as changes of keys do.
   */
  rotate(accessKey: string, owner: string, idempotencyKey: string | null): Promise<Rotated> {
    const isOnce = idempotencyKey !== null;
    const id = isOnce ? onceRecord(owner, idempotencyKey) : this.#options.random.uuid();
    const digest = isOnce ? hash('sha256', `rotate\0${accessKey}`, 'hex') : undefined;
    return this.#queue.run(id, () => this.#rotate(id, accessKey, digest === undefined ? {} : { digest, owner }));
  }

  /** Moves what Keyway keeps about a key to its successor, except the note, which goes with the outcome in a batch. */
  async follow(from: string, to: string): Promise<void> {
    for (;;) {
      const changes = this.#moved(from, to);
      if (changes.length === 0 || (await this.#options.records.change(changes))) return;
    }
  }

  async #rotate(id: string, accessKey: string, asked: Pick<KeptRotation, 'digest' | 'owner'>): Promise<Rotated> {
    const { backend, core, records, clock, random } = this.#options;
    const present = await core.key(accessKey);
    const answered = this.#known<KeptAnswer>('jobs', id, asked.digest);
    if (answered !== null) return { successor: answered.successor, unsaved: null };
    const begun = this.#known<KeptRotation>('rotations', id, asked.digest);
    if (begun !== null) return this.#finish(id, begun);
    if (present === undefined) throw new DomainError('userNotFound');
    const [successor, now] = [random.bytes(KEY_BYTES).toString('hex'), clock.now()];
    const rotation = { old: accessKey, successor, begunAt: now, endsAt: now, isMade: false, ...asked };
    const { rotate } = backend.changes;
    if (rotate === null) {
      if (records.of('rotations').size >= MOST_BEGUN)
        throw new OwnError('tooManyJobs', `${MOST_BEGUN} rotations are not done`, 5);
      await records.change([put(id, rotation)]);
      return this.#finish(id, rotation);
    }
    const isDone = await rotate(accessKey, successor, this.#outcome(id, rotation));
    // Another gateway has rotated the key, or changed what is kept about it.
    if (!isDone) return this.#rotate(id, accessKey, asked);
    this.#options.onRotated({ accessKey, successor });
    return { successor, unsaved: null };
  }

  /** Returns the rotation kept under an id. Throws if another body was sent with that id. */
  #known<T extends { readonly digest?: string | undefined }>(
    kind: 'jobs' | 'rotations',
    id: string,
    digest: string | undefined,
  ): T | null {
    const body = this.#options.records.of(kind).get(id);
    if (body === undefined) return null;
    const known: T = JSON.parse(body);
    if (known.digest !== digest) throw new OwnError('idempotencyKeyReused');
    return known;
  }

  /** Finishes a rotation that was begun, and resolves to the new key. */
  async #finish(id: string, rotation: KeptRotation): Promise<Rotated> {
    const { backend, core, log } = this.#options;
    let left: KeptRotation | null = null;
    try {
      await this.#make(rotation);
    } catch (error) {
      // It is looked after until the file has it, and ends with the process.
      if (isInMemory(error)) return { successor: rotation.successor, unsaved: error };
      // Between two calls to a server the new key may exist already, and its caller must learn it.
      const isCalled = backend.live !== null;
      const next = isCalled && (await Promise.resolve(core.key(rotation.successor)).catch(() => null));
      if (!next) throw error;
      log.warn({ err: error }, 'a rotated key is removed later');
      left = { ...rotation, isMade: true };
    }
    await this.#note(id, rotation, left).catch((error: unknown) =>
      log.warn({ err: error }, 'records of changed keys could not be kept'),
    );
    return { successor: rotation.successor, unsaved: null };
  }

  /** Makes the new key unless it was made, and ends the old one. */
  async #make({ old, successor, isMade }: KeptRotation): Promise<void> {
    const { backend, core } = this.#options;
    const next = await core.key(successor);
    if (next !== undefined || isMade) {
      // It is in memory, and perhaps not in the file.
      if (next !== undefined && backend.live === null)
        await changeKey(backend, { op: 'update', accessKey: successor, update: {} });
      if ((await core.key(old)) !== undefined) await changeKey(backend, { op: 'delete', accessKey: old });
    } else await changeKey(backend, { op: 'rotate', accessKey: old, successor }, { refuses: true });
  }

  /** Notes that a rotation is done, but for what is left of it. */
  async #note(id: string, rotation: KeptRotation, left: KeptRotation | null): Promise<void> {
    const { records, onRotated } = this.#options;
    let isNoted = false;
    while (!isNoted) isNoted = await records.change([...this.#outcome(id, rotation), put(id, left)]);
    if (!rotation.isMade) onRotated({ accessKey: rotation.old, successor: rotation.successor });
  }

  /** The changes of records that a rotation comes with. */
  #outcome(id: string, { old, successor, digest, owner = '' }: KeptRotation): readonly RecordChange[] {
    const moved = [...this.#moved(old, successor), ...this.#options.notes.moved(old, successor)];
    if (digest === undefined) return moved;
    const answer: KeptAnswer = { digest, owner, successor, endedAt: this.#options.clock.now() };
    const known = this.#options.records.of('jobs').get(id) ?? null;
    return [...moved, { kind: 'jobs', id, body: JSON.stringify(answer), expected: known }];
  }

  /** Returns the record changes that move what is kept about a key to its successor. */
  #moved(from: string, to: string): readonly RecordChange[] {
    const { makers, addresses, records } = this.#options;
    const rotations = [...records.of('rotations')].flatMap(([id, body]): readonly RecordChange[] => {
      const rotation: KeptRotation = JSON.parse(body);
      const { old, successor, begunAt, endsAt } = rotation;
      if (successor === to) return [];
      if (successor === from) return [{ ...put(id, { ...rotation, successor: to, isMade: true }), expected: body }];
      // A key within its grace ends at the same time by its other secret.
      return old === from && endsAt > begunAt ? [{ ...put(id, { ...rotation, old: to }), expected: body }] : [];
    });
    return [...makers.moved(from, to), ...addresses.moved(from, to), ...rotations];
  }

  #look(): void {
    const { records, log, isInCharge } = this.#options;
    const ids = [...records.of('rotations').keys()];
    for (const id of this.#seenAt.keys()) if (!records.of('rotations').has(id)) this.#seenAt.delete(id);
    if (this.#looking !== null || ids.length === 0 || !isInCharge()) return;
    // Each for itself: one that cannot be finished keeps no other from its end.
    this.#looking = Promise.allSettled(ids.map((id) => this.#queue.run(id, () => this.#tend(id)))).then((looks) => {
      const failed = looks.find((look) => look.status === 'rejected');
      if (failed !== undefined && !this.#isFailing)
        log.warn({ err: failed.reason }, 'rotated keys could not be looked after; it is tried again');
      this.#isFailing = failed !== undefined;
      this.#looking = null;
    });
  }

  /** Finishes a rotation that nobody else does: its process has ended, or it has left something to do later. */
  async #tend(id: string): Promise<void> {
    const { core, clock, records } = this.#options;
    const body = records.of('rotations').get(id);
    if (body === undefined) return;
    const rotation: KeptRotation = JSON.parse(body);
    const present = await core.key(rotation.old);
    const seenAt = this.#seenAt.get(id) ?? clock.monotonic();
    this.#seenAt.set(id, seenAt);
    if (!rotation.isMade && (await core.key(rotation.successor)) === undefined) {
      // It is perhaps being made, by a server that did not answer or by an older gateway.
      if (present === undefined || clock.monotonic() >= seenAt + UNMADE) await records.change([put(id, null)]);
    } else if (present === undefined || rotation.endsAt <= rotation.begunAt || clock.now() >= rotation.endsAt) {
      await this.#make(rotation);
      await this.#note(id, rotation, null);
    }
  }
}

const put = (id: string, rotation: KeptRotation | null): RecordChange => ({
  kind: 'rotations',
  id,
  body: rotation === null ? null : JSON.stringify(rotation),
});
