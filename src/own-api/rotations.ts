import type { Backend, KeyChange } from '../core/backend.js';
import type { Core } from '../core/core.js';
import { DomainError } from '../core/errors.js';
import type { KeptRecords } from '../core/kept-records.js';
import { recordOf } from '../core/keys/key-record.js';
import type { KeySnapshot } from '../core/model.js';
import type { ClockPort, LogPort, RandomPort } from '../core/ports.js';
import { leftOf } from './changes.js';
import type { KeptAddresses } from './kept-addresses.js';
import type { Bytes, KeptRotation, KeptRotations, ReadRotation } from './kept-rotations.js';

export interface RotationsOptions {
  readonly core: Pick<Core, 'key'>;
  readonly backend: Backend;
  readonly records: KeptRecords;
  readonly kept: KeptRotations;
  readonly addresses: KeptAddresses;
  /** Told of a rotation that was made, so that what is kept of the key follows. */
  readonly follow: (changes: readonly KeyChange[], by: null) => Promise<void>;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly log: LogPort;
  /** True where this gateway is the one that ends old keys. */
  readonly isInCharge: () => boolean;
}

/** The wishes of a caller for a rotation. Times are milliseconds since the epoch. */
export interface AskedRotation {
  readonly graceMilliseconds: number;
  /** Until then the old subscription address leads to the new key; null where it ends with the old key. */
  readonly keepAddressUntil: number | null;
}

const KEY_BYTES = 16;
/** Milliseconds between two looks at the bytes of old keys. */
const LOOK = 2_000;
/** Milliseconds after which a rotation whose new key never showed was not made. */
const UNMADE = 600_000;
const NONE: Bytes = { up: '0', down: '0' };

/** New secrets for keys, and old ones that end later. */
export class Rotations {
  readonly #options: RotationsOptions;
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

  /** Gives a key a new secret. Rejects with `userNotFound`, and as changes of keys do. */
  async rotate(
    accessKey: string,
    { graceMilliseconds, keepAddressUntil }: AskedRotation,
  ): Promise<{ readonly successor: string; readonly oldEndsAt: number }> {
    const { core, backend, kept, addresses, follow, clock, random, log } = this.#options;
    const present = await core.key(accessKey);
    if (present === undefined) throw new DomainError('userNotFound');
    const successor = random.bytes(KEY_BYTES).toString('hex');
    const begunAt = clock.now();
    const endsAt = begunAt + graceMilliseconds;
    const id = random.uuid();
    // The second of two calls, for the new key and the end of the old one, is made whatever becomes of the first's caller.
    const isKept = graceMilliseconds > 0 || backend.batches === null;
    const rotation: KeptRotation = {
      ...{ old: accessKey, successor, begunAt, endsAt, isMade: false, carrying: null, isCut: false },
      left: leftOf(present)?.toString() ?? null,
      // The old key begins at zero where counters can be moved.
      carried: backend.batches === null ? bytesOf(present) : NONE,
    };
    const begun = isKept ? await kept.begin(id, rotation) : null;
    try {
      if (backend.batches === null)
        await backend.createKey(recordOf(successor, { ...present, limitBytes: leftOf(present) }));
      else await this.#replaceTogether(present, successor, graceMilliseconds > 0, id);
    } catch (error) {
      // One that may yet show is told apart by the next looks.
      if (begun !== null && (await this.#isMissing(successor))) await kept.end(id);
      throw error;
    }
    if (begun !== null) await kept.change(begun, { isMade: true });
    if (backend.batches === null) await this.#leaveOld(present, graceMilliseconds > 0, id);
    // The new key is there, and its caller must learn of it.
    await follow([{ op: 'rotate', accessKey, successor }], null).catch((error: unknown) =>
      log.warn({ err: error }, 'records of changed keys could not be kept'),
    );
    if (keepAddressUntil !== null) await addresses.keep(accessKey, successor, keepAddressUntil);
    return { successor, oldEndsAt: endsAt };
  }

  async #replaceTogether(present: KeySnapshot, successor: string, staysFor: boolean, note: string): Promise<void> {
    const { backend, records } = this.#options;
    const { accessKey, limitBytes } = present;
    const changes: readonly KeyChange[] = [
      { op: 'rotate', accessKey, successor },
      ...(staysFor
        ? [{ op: 'create', key: recordOf(accessKey, { name: oldName(present), limitBytes }) } as const]
        : []),
    ];
    const noted = { kind: 'jobs', id: `rotation/${note}`, body: null } as const;
    const [replaced = null, stayed = null] = (await backend.batches?.apply(changes, noted.id)) ?? [];
    if (records.of(noted.kind).has(noted.id)) await records.change([noted]);
    // A key that somebody has meanwhile removed does not come back as an old one.
    if (replaced?.code === 'userNotFound' && staysFor && stayed === null) await backend.deleteKey(accessKey);
    const failed = replaced ?? stayed;
    if (failed !== null) throw failed;
  }

  /** Names the old key as one, or ends it. What fails is made good by the looks: the new key is there. */
  async #leaveOld(present: KeySnapshot, staysFor: boolean, id: string): Promise<void> {
    const { backend, kept, log } = this.#options;
    const { accessKey } = present;
    try {
      if (staysFor) return await backend.updateKey(accessKey, { name: oldName(present) });
      await backend.deleteKey(accessKey);
      await kept.end(id);
    } catch (error) {
      log.warn(
        { err: error },
        staysFor ? 'the old key of a rotation keeps its name' : 'a rotated key is removed later',
      );
    }
  }

  async #isMissing(accessKey: string): Promise<boolean> {
    try {
      return (await this.#options.core.key(accessKey)) === undefined;
    } catch {
      return false;
    }
  }

  #look(): void {
    const { kept, log, isInCharge } = this.#options;
    if (this.#looking !== null || !isInCharge() || kept.all().length === 0) return;
    this.#looking = this.#tendAll()
      .then(
        () => {
          this.#isFailing = false;
        },
        (error: unknown) => {
          if (!this.#isFailing) log.warn({ err: error }, 'rotated keys could not be looked after; it is tried again');
          this.#isFailing = true;
        },
      )
      .finally(() => {
        this.#looking = null;
      });
  }

  /** Each for itself: one that cannot be changed keeps no other from its end. Rejects with the first failure. */
  async #tendAll(): Promise<void> {
    const failures: unknown[] = [];
    for (const read of this.#options.kept.all()) {
      try {
        await this.#tend(read);
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  async #tend(read: ReadRotation): Promise<void> {
    const { core, kept, clock } = this.#options;
    const { old, successor, begunAt, endsAt, isMade } = read.rotation;
    const present = await core.key(old);
    if (present === undefined) return kept.end(read.id);
    const next = await core.key(successor);
    if (next === undefined && !isMade) {
      // It is perhaps being made by another gateway.
      if (clock.now() >= begunAt + UNMADE) await kept.end(read.id);
      return;
    }
    const made = await kept.change(read, { isMade: true });
    const carried = made === null || next === undefined ? made : await this.#carry(made, present, next);
    if (carried === null) return;
    if (clock.now() >= endsAt) await this.#endOld(carried);
    else if (!carried.rotation.isCut && (await this.#isUsedUp(carried.rotation))) await this.#cut(carried);
  }

  async #endOld({ id, rotation: { old } }: ReadRotation): Promise<void> {
    const { backend, kept } = this.#options;
    await backend.deleteKey(old);
    await kept.end(id);
  }

  async #cut(read: ReadRotation): Promise<void> {
    const { backend, kept } = this.#options;
    await backend.updateKey(read.rotation.old, { limitBytes: 0n });
    await kept.change(read, { isCut: true });
  }

  /** Counts the old key's bytes onto the new one, once, whatever happens in between. Null where another must look again. */
  async #carry(read: ReadRotation, old: KeySnapshot, next: KeySnapshot): Promise<ReadRotation | null> {
    const { backend, kept } = this.#options;
    const { successor, carried } = read.rotation;
    const to = read.rotation.carrying ?? bytesOf(old);
    const [up, down] = [BigInt(to.up) - BigInt(carried.up), BigInt(to.down) - BigInt(carried.down)];
    if (up === 0n && down === 0n) return read;
    const done = { carried: to, carrying: null };
    // Somebody has reset the old key.
    if (up < 0n || down < 0n) return kept.change(read, done);
    const carrying = await kept.change(read, { carrying: to });
    if (carrying === null) return null;
    if (backend.batches !== null) {
      const report = `rotation ${read.id} ${to.up} ${to.down}`;
      const entries = [{ accessKey: successor, bytesUp: up, bytesDown: down, connections: null }];
      await backend.count({ id: report, entries }, 'durable');
      return kept.change(carrying, done);
    }
    return this.#lower(carrying, next, up + down, done);
  }

  /** Lowers the new key's limit by what the old one has used: no API counts for another. A limit that somebody has set counts. */
  async #lower(
    read: ReadRotation,
    { accessKey, limitBytes }: KeySnapshot,
    bytes: bigint,
    done: Partial<KeptRotation>,
  ): Promise<ReadRotation | null> {
    const { backend, kept } = this.#options;
    const { left } = read.rotation;
    const lowered = (limit: bigint): bigint => (limit > bytes ? limit - bytes : 0n);
    const isLowered = left !== null && limitBytes === lowered(BigInt(left));
    const rest = limitBytes === null || isLowered ? limitBytes : lowered(limitBytes);
    if (rest !== limitBytes) await backend.updateKey(accessKey, { limitBytes: rest });
    return kept.change(read, { ...done, left: rest?.toString() ?? null });
  }

  async #isUsedUp({ successor }: KeptRotation): Promise<boolean> {
    const present = await this.#options.core.key(successor);
    return present !== undefined && leftOf(present) === 0n;
  }
}

const oldName = ({ name }: KeySnapshot): string => (name === null ? '(old)' : `${name} (old)`);

function bytesOf({ counters }: KeySnapshot): Bytes {
  return { up: String(counters?.bytesUp ?? 0n), down: String(counters?.bytesDown ?? 0n) };
}
