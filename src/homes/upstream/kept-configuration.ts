import { UpstreamError } from '../../client/upstream-error.js';
import { DomainError } from '../../core/errors.js';
import { copyOf } from '../../core/keys/key-record.js';
import type { KeyReader } from '../../core/keys/types.js';
import { areMany } from '../../core/replace-policy.js';
import { UndoVersions } from '../../core/undo-versions.js';
import { changeDocument } from '../../document/change.js';
import type { ConfigurationDocument, ReadConfiguration } from '../../document/document.js';
import type { KeptVersions } from '../../files/kept-versions.js';
import { failureWords } from '../../platform/failure-words.js';
import { type ConfigurationAccess, fileServers, REPLACEABLE } from './configuration.js';
import type { UpstreamContext } from './context.js';
import { inKey } from './struck-configuration.js';

export interface ConfigurationVersionsOptions extends UpstreamContext {
  readonly keys: Pick<KeyReader, 'get' | 'entries' | 'changes'>;
  readonly configuration: Pick<ConfigurationAccess, 'read' | 'keep'>;
  readonly versions: Pick<KeptVersions, 'keepNewestForever'>;
}

/** After a change, and without one, ms. */
const LEAST_GAP = 10 * 60 * 1000;
const MOST_GAP = 24 * 60 * 60 * 1000;
/** After a failure, ms. */
const AGAIN = 60_000;
/** The failures in a row that count as a loss: what a server is just writing can be read the next time. */
const UNTIL_LOST = 2;
/** The failures of a server with a broken file; one that was started without a file has lost nothing. */
const UNREADABLE: ReadonlySet<string> = new Set(['configReadFailed', 'configStripFailed', 'configParseFailed']);

/**
 * Keeps the configuration of a server as versions, also of other people's changes (design: "The configuration is
 * kept").
 */
export function createConfigurationVersions(options: ConfigurationVersionsOptions) {
  const { server, keys, configuration, versions, clock, timers, log } = options;
  const undo = new UndoVersions({ ...options, keep: keepForUndo });
  let keptAt = Number.NEGATIVE_INFINITY;
  /** The number of keys of the last one. */
  let known = 0;
  let isChanged = false;
  let isFailing = false;
  /** The number of times in a row that it was none. */
  let unreadable = 0;
  let isClosed = false;
  let working: Promise<void> | null = null;
  let cancel: (() => void) | null = null;

  async function keep(): Promise<void> {
    isChanged = false;
    const { value, sentAt } = await configuration.read('poll');
    const { document, configuration: present } = value;
    if (isClosed) return;
    if (areMany(known - present.keys.length)) await lost(document.bytes);
    await configuration.keep(document.bytes);
    known = present.keys.length;
    keptAt = sentAt;
    isFailing = false;
    unreadable = 0;
  }

  /** Keeps what there is before something is taken away. */
  async function keepForUndo(): Promise<void> {
    if (isClosed || server.line()?.capabilities.config === undefined) return;
    try {
      await configuration.keep(withMissing((await configuration.read('caller')).value).bytes);
    } catch (error) {
      // Where there is no file, none could be brought back.
      if (!(error instanceof DomainError && REPLACEABLE.has(error.code))) throw error;
    }
  }

  /** The configuration with the keys that the server has and may not have written yet. */
  function withMissing({ document, configuration: { keys: written } }: ReadConfiguration): ConfigurationDocument {
    const known = new Set(written.map(({ accessKey }) => accessKey));
    const missing = [...keys.entries()].filter(({ accessKey }) => !known.has(accessKey));
    if (missing.length === 0) return document;
    const records = missing.map((key) => inKey(copyOf(key), server.texts.own));
    return changeDocument(
      document,
      { keys: new Map(records.map((record) => [record.accessKey, record])) },
      undefined,
      fileServers(server),
    );
  }

  /** Keeps the version before for ever. */
  async function lost(present: Buffer): Promise<void> {
    await versions.keepNewestForever(present);
    log.warn(
      {},
      'the configuration of the server has lost keys or cannot be read: the version before is kept for good',
    );
  }

  async function failed(error: unknown): Promise<void> {
    if (error instanceof UpstreamError || isClosed) return;
    if (!isFailing) log.warn({ reason: failureWords(error) }, 'the configuration of the server could not be kept');
    isFailing = true;
    const isUnreadable = error instanceof DomainError && UNREADABLE.has(error.code);
    unreadable = isUnreadable ? unreadable + 1 : 0;
    if (unreadable === UNTIL_LOST) await lost(Buffer.alloc(0)).catch(() => undefined);
  }

  function work(): void {
    if (isClosed || working !== null || server.line()?.capabilities.config === undefined) return;
    cancel?.();
    cancel = null;
    working = keep()
      .then(
        () => true,
        (error: unknown) => failed(error).then(() => false),
      )
      .then((isDone) => {
        working = null;
        plan(isDone ? keptAt + (isChanged ? LEAST_GAP : MOST_GAP) : clock.monotonic() + AGAIN);
      });
  }

  function plan(at: number): void {
    cancel?.();
    if (!isClosed) cancel = timers.after(Math.max(0, at - clock.monotonic()), work);
  }

  function changed(): void {
    if (isChanged) return;
    isChanged = true;
    if (working === null && keptAt > Number.NEGATIVE_INFINITY) plan(keptAt + LEAST_GAP);
  }

  return {
    /** To be awaited before something is taken away; does not reject. */
    before: () => undo.before(),
    /** To be called where settings became others. */
    settingsChanged(): void {
      undo.settingsChanged();
      changed();
    },
    /** On sight, at once. */
    look: work,
    /** To be called where it may have changed. */
    changed,
    /** Returns whether the server has had none that can be read for a while. */
    isUnreadable: (): boolean => unreadable >= UNTIL_LOST,
    /** Begins nothing any more. */
    close(): void {
      isClosed = true;
      cancel?.();
    },
  };
}
