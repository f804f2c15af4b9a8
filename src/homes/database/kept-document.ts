import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { copyOf, sameFields } from '../../core/keys/key-record.js';
import type { KeyReader } from '../../core/keys/types.js';
import type { AccessKey, OutboundRule } from '../../core/model.js';
import { PerKeyQueue } from '../../core/per-key-queue.js';
import { inTurns, pieces, type Steps } from '../../core/steps.js';
import { type ConfigurationDocument, readDocumentSteps } from '../../document/document.js';
import { compactJsonSteps } from '../../wire/json/json.js';
import type { Connections } from './connection.js';
import {
  type ChangeRefused,
  changedDocument,
  KeyChanges,
  type PresentSections,
  sectionChanges,
} from './document-changes.js';
import type { KeyObserver } from './replica.js';
import { DOCUMENT, type Seen } from './statements.js';

/** The configuration at one moment. */
export interface PresentDocument {
  /** The number of the last write in it. */
  readonly number: bigint;
  readonly document: ConfigurationDocument;
  /** Returns the same as one compact JSON value, in pieces. */
  compact(): Promise<readonly Buffer[]>;
}

export interface KeptDocumentOptions {
  readonly connections: Pick<Connections, 'run'>;
  readonly keys: Pick<KeyReader, 'get' | 'entries'>;
  readonly present: () => PresentSections;
  /** Resolves once everything committed before the call is in memory. */
  readonly fresh: () => Promise<void>;
  readonly seen: () => Pick<Seen, 'state' | 'document'>;
  /** Returns the number of the write that registered the key. */
  readonly registeredAt: (accessKey: string) => number;
  readonly refused: ChangeRefused;
}

/** The document that was put, with the present keys. */
interface Kept {
  /** The number of the write that put it. */
  readonly number: bigint;
  /** False if keys and settings were not taken from it. */
  readonly isApplied: boolean;
  readonly rules: readonly OutboundRule[];
  document: ConfigurationDocument;
}

/** A document with the present sections. */
interface Made extends PresentSections {
  readonly base: ConfigurationDocument;
  readonly document: ConfigurationDocument;
  compact: Promise<readonly Buffer[]> | null;
}

const DEADLINE = 30_000;
/** Milliseconds after which an unused document leaves memory. */
const IDLE = 60_000;

/**
 * Keeps the configuration as text between changes (design: "One state for several gateways"): a read makes only the
 * changes since the previous read, and never holds up the event loop for all keys.
 */
export class KeptDocument implements KeyObserver {
  readonly #options: KeptDocumentOptions;
  readonly #queue = new PerKeyQueue();
  #kept: Kept | null = null;
  #made: Made | null = null;
  /** Changes that the kept document lacks; null without a document. */
  #changes: KeyChanges | null = null;
  #idle: NodeJS.Timeout | null = null;

  constructor(options: KeptDocumentOptions) {
    this.#options = options;
  }

  recordChanged(accessKey: string): void {
    this.#changes?.record(accessKey);
  }

  /** Moves a key to the end of its list, in the order of these calls. */
  placeChanged(accessKey: string): void {
    this.#changes?.place(accessKey);
  }

  allChanged(): void {
    this.close();
  }

  /** Returns the configuration with all commits before the call. Rejects as connections and `readDocument` do. */
  async current(): Promise<PresentDocument> {
    const { fresh, seen } = this.#options;
    return this.#queue.run('document', async () => {
      this.#stayAwhile();
      for (;;) {
        await fresh();
        if (this.#kept?.number !== seen().document) await this.#load();
        const kept = this.#kept;
        await this.#makeChanges();
        // Only if, in this turn of the event loop, no change is left and the document belongs to the state in memory.
        if (kept === null || kept.number !== seen().document || kept !== this.#kept || this.#isBehind(kept)) continue;
        const { state: number } = seen();
        const made = await this.#withSections(kept, kept.document);
        const compact = () => {
          made.compact ??= inTurns(compactJsonSteps(made.document.bytes));
          return made.compact;
        };
        return { number, document: made.document, compact };
      }
    });
  }

  /** Drops the document; the next call of `current` reads it again. */
  close(): void {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#idle = null;
    this.#kept = null;
    this.#made = null;
    this.#changes = null;
  }

  #stayAwhile(): void {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.close(), IDLE).unref();
  }

  /** Reads the document that was put last, and notes later changes. Keeps nothing if another is put meanwhile. */
  async #load(): Promise<void> {
    const { connections, fresh, seen } = this.#options;
    const changes = new KeyChanges();
    this.#kept = null;
    this.#made = null;
    this.#changes = changes;
    const [rows] = await connections.run(DOCUMENT, DEADLINE);
    const [at, applied, content] = rows?.[0] ?? [];
    const { document, configuration } = await inTurns(
      readDocumentSteps(await unpack(Buffer.from(content ?? '', 'hex'))),
    );
    const [number, isApplied] = [BigInt(at ?? 0), applied === 't'];
    await fresh();
    if (number !== seen().document) return;
    if (isApplied) await inTurns(this.#noteChangesSince(Number(number), configuration.keys));
    // Everything was reloaded meanwhile.
    if (this.#changes !== changes) return;
    this.#kept = { number, isApplied, rules: configuration.outbound?.rules ?? [], document };
  }

  *#noteChangesSince(number: number, listed: readonly AccessKey[]): Steps<void> {
    const { keys, registeredAt } = this.#options;
    for (const some of pieces(listed)) {
      for (const key of some) {
        const { accessKey } = key;
        const entry = keys.get(accessKey);
        if (entry === undefined || registeredAt(accessKey) > number) this.placeChanged(accessKey);
        else if (!sameFields(entry, key)) this.recordChanged(accessKey);
      }
      yield;
    }
    // In the order of registration.
    for (const some of pieces(keys.entries())) {
      for (const { accessKey } of some) if (registeredAt(accessKey) > number) this.placeChanged(accessKey);
      yield;
    }
  }

  /** Makes the changes of keys until none is left, a limited number in each turn. */
  async #makeChanges(): Promise<void> {
    const kept = this.#kept;
    const { refused } = this.#options;
    while (kept !== null && kept === this.#kept && this.#changes !== null && this.#isBehind(kept)) {
      kept.document = this.#changes.makeSome(kept.document, this.#recordOf, refused);
      if (this.#changes.size > 0) await setImmediate();
    }
  }

  /** Tells whether the document lacks changes. */
  #isBehind({ isApplied }: Kept): boolean {
    return isApplied && this.#changes !== null && this.#changes.size > 0;
  }

  readonly #recordOf = (accessKey: string): AccessKey | null => {
    const entry = this.#options.keys.get(accessKey);
    return entry === undefined ? null : copyOf(entry);
  };

  /** Returns the document with the sections as they are at the moment of the call. */
  async #withSections(kept: Kept, base: ConfigurationDocument): Promise<Made> {
    const { outbound, dnsChanges } = this.#options.present();
    const made = this.#made;
    if (made?.base === base && made.outbound === outbound && made.dnsChanges === dnsChanges) return made;
    let document = base;
    for (const change of kept.isApplied ? sectionChanges(kept.rules, { outbound, dnsChanges }) : []) {
      document = changedDocument(document, change, this.#options.refused);
      await setImmediate();
    }
    const next = { base, outbound, dnsChanges, document, compact: null };
    if (this.#kept === kept) this.#made = next;
    return next;
  }
}

const GZIP = Buffer.from([0x1f, 0x8b]);

/** Returns the bytes of a stored content. */
export async function unpack(content: Buffer): Promise<Buffer> {
  return content.subarray(0, GZIP.length).equals(GZIP) ? promisify(gunzip)(content) : content;
}
