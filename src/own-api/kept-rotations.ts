import type { KeptRecords, RecordChange } from '../core/kept-records.js';

/** Bytes of a key, as texts of whole numbers. */
export interface Bytes {
  readonly up: string;
  readonly down: string;
}

/** A rotation whose old key has not ended. Times are milliseconds since the epoch. */
export interface KeptRotation {
  readonly old: string;
  readonly successor: string;
  readonly begunAt: number;
  readonly endsAt: number;
  /** The new key has been there: from then on the old one ends, whatever becomes of the new one. */
  readonly isMade: boolean;
  /** The new key's limit as it was last set for the rotation; null for none. */
  readonly left: string | null;
  /** The old key's bytes that count onto the new one. */
  readonly carried: Bytes;
  /** The sums up to which they are being counted. */
  readonly carrying: Bytes | null;
  /** The old key is let in no more, because both have used the limit up. */
  readonly isCut: boolean;
}

/** A rotation as it was read: `body` tells it from what somebody else has made of it since. */
export interface ReadRotation {
  readonly id: string;
  readonly body: string;
  readonly rotation: KeptRotation;
}

/** The rotations whose old keys have not ended. */
export class KeptRotations {
  readonly #records: KeptRecords;

  constructor(records: KeptRecords) {
    this.#records = records;
  }

  all(): readonly ReadRotation[] {
    return [...this.#records.of('rotations')].map(([id, body]) => ({ id, body, rotation: JSON.parse(body) }));
  }

  async begin(id: string, rotation: KeptRotation): Promise<ReadRotation> {
    const body = JSON.stringify(rotation);
    await this.#records.change([{ kind: 'rotations', id, body, expected: null }]);
    return { id, body, rotation };
  }

  /** Resolves to the rotation as it is then; to null where it has meanwhile become another, and nothing has changed. */
  async change({ id, body, rotation }: ReadRotation, change: Partial<KeptRotation>): Promise<ReadRotation | null> {
    const next = { ...rotation, ...change };
    const text = JSON.stringify(next);
    if (text === body) return { id, body, rotation };
    const isMade = await this.#records.change([{ kind: 'rotations', id, body: text, expected: body }]);
    return isMade ? { id, body: text, rotation: next } : null;
  }

  async end(id: string): Promise<void> {
    await this.#records.change([{ kind: 'rotations', id, body: null }]);
  }

  /** Has the rotations of a key go on with the one that stands in its place, besides the rotation that put it there. */
  async moved(from: string, to: string): Promise<void> {
    const changes = this.all().flatMap(({ id, body, rotation }): readonly RecordChange[] => {
      const { old, successor } = rotation;
      if (successor === to || (old !== from && successor !== from)) return [];
      const next = { ...rotation, ...(old === from ? { old: to } : { successor: to, isMade: true }) };
      return [{ kind: 'rotations', id, body: JSON.stringify(next), expected: body }];
    });
    if (changes.length > 0 && !(await this.#records.change(changes))) await this.moved(from, to);
  }
}
