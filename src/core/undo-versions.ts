import { messageOf } from './errors.js';
import type { KeyReader } from './keys/types.js';
import type { ClockPort, LogPort } from './ports.js';

export interface UndoVersionsOptions {
  readonly keys: Pick<KeyReader, 'get' | 'changes'>;
  /** Keeps what the configuration is now as the newest version. */
  readonly keep: () => Promise<void>;
  readonly clock: Pick<ClockPort, 'monotonic'>;
  readonly log: Pick<LogPort, 'error'>;
}

/** Between two versions that are kept before something is taken away, ms. */
export const UNDO_GAP = 10_000;

/**
 * The versions that are kept before something is taken away, so that the newest one has it and all that was made before
 * (design: "Undo"). One that cannot be kept holds up no change, and is said in the log.
 */
export class UndoVersions {
  readonly #options: UndoVersionsOptions;
  /** The place in the log of changes up to which the newest version goes; null for one that is not known. */
  #keptTo: number | null = null;
  #areSettingsNewer = false;
  #keptAt = Number.NEGATIVE_INFINITY;
  #keeping: Promise<void> | null = null;

  constructor(options: UndoVersionsOptions) {
    this.#options = options;
  }

  /** To be awaited before something is taken away. Keeps a version where something was added since the newest one. Never rejects. */
  async before(): Promise<void> {
    if (this.#keeping === null && this.#isDue()) this.#keeping = this.#keep().finally(() => (this.#keeping = null));
    await this.#keeping;
  }

  /** Called where settings became others. */
  settingsChanged(): void {
    this.#areSettingsNewer = true;
  }

  #isDue(): boolean {
    if (this.#options.clock.monotonic() - this.#keptAt < UNDO_GAP) return false;
    return this.#areSettingsNewer || this.#hasNewerKeys();
  }

  #hasNewerKeys(): boolean {
    const { keys } = this.#options;
    const changed = this.#keptTo === null ? null : keys.changes.since(this.#keptTo);
    return changed === null || changed.some((accessKey) => keys.get(accessKey) !== undefined);
  }

  async #keep(): Promise<void> {
    const { keys, keep, clock, log } = this.#options;
    const keptTo = keys.changes.version;
    this.#areSettingsNewer = false;
    try {
      await keep();
      this.#keptTo = keptTo;
    } catch (error) {
      this.#areSettingsNewer = true;
      log.error({ reason: messageOf(error) }, 'no version of the configuration could be kept before a change');
    }
    this.#keptAt = clock.monotonic();
  }
}
