import { UNCHANGED } from '../../client/find-line.js';
import type { ServerTexts } from '../../client/secrets.js';
import type { Purpose, Sent, UpstreamServer } from '../../client/server.js';
import { mayHaveHappened, UpstreamError } from '../../client/upstream-error.js';
import type { ConfigurationFingerprint, ConfigurationPatch } from '../../core/backend.js';
import { DomainError } from '../../core/errors.js';
import type { KeptRecords } from '../../core/kept-records.js';
import { recordOf } from '../../core/keys/key-record.js';
import type { KeyReader } from '../../core/keys/types.js';
import type { AccessKey, ConfigurationChange, ServerConfiguration } from '../../core/model.js';
import { judgeReplacement, type Replacement } from '../../core/replace-policy.js';
import { inTurns } from '../../core/steps.js';
import { changeDocument } from '../../document/change.js';
import { refuseEndedStartSteps, refuseLockOutSteps } from '../../document/check/keeps-starting.js';
import { StartWatch } from '../../document/check/start-watch.js';
import {
  type ConfigurationDocument,
  ConfigurationShapeError,
  lossesBetween,
  type ReadConfiguration,
  readDocument,
} from '../../document/document.js';
import { patchDocumentSteps } from '../../document/patch/patch-document.js';
import type { KeptVersions } from '../../files/kept-versions.js';
import { failureWords } from '../../platform/failure-words.js';
import { JsonSyntaxError } from '../../wire/json/json.js';
import type { FileServer } from '../../wire/traits/server-file.js';
import { SETTLED_AFTER } from '../../wire/traits/storing.js';
import type { UpstreamContext } from './context.js';
import type { ListRefresh } from './list-refresh.js';
import { ownChange, struckConfiguration } from './struck-configuration.js';
import type { UnconfirmedWrites } from './unconfirmed-writes.js';
import type { WriteQueue } from './write-queue.js';

export type ConfigurationAccess = ReturnType<typeof createConfigurationAccess>;

export interface ConfigurationAccessOptions extends UpstreamContext {
  readonly keys: KeyReader;
  readonly queue: WriteQueue;
  readonly listRefresh: Pick<ListRefresh, 'fresh'>;
  readonly unconfirmed: Pick<UnconfirmedWrites, 'clear'>;
  /** Keeps the text before a change; null where nothing outlives the process. */
  readonly versions: Pick<KeptVersions, 'keep' | 'list' | 'read'> | null;
  /** Keyway's own records. */
  readonly records: KeptRecords;
  /** Keeps a version where something was added since the newest one; does not reject. */
  readonly keepVersion: () => Promise<void>;
  /** Called when a configuration has been replaced as a whole; with `hasSameKeys` but for its keys. */
  readonly onReplaced: (configuration: ServerConfiguration, hasSameKeys: boolean) => void;
  /** Called when the server has stored its memory. */
  readonly onStored: () => void;
  /** Tells whether the home is closing, so that nothing is waited for any more. */
  readonly isClosing: () => boolean;
}

/** The time that a server may take to write its file, ms. */
const WRITING = 300;
/** Between two looks at whether a replacement is live, ms. */
const LOOKS = 1_000;

/** The server's configuration, through its own API. */
export function createConfigurationAccess(options: ConfigurationAccessOptions) {
  const {
    server,
    keys,
    queue,
    listRefresh,
    unconfirmed,
    versions,
    keepVersion,
    onReplaced,
    onStored,
    isClosing,
    clock,
    timers,
    log,
    records,
  } = options;
  const starts = new StartWatch({ of: { upstream: server.name }, log, servers: () => fileServers(server) });
  starts.remember(records);

  /** Reads the configuration. Rejects with `configParseFailed` if it is malformed. */
  async function read(purpose: Purpose): Promise<Sent<ReadConfiguration>> {
    return unlessHalfWritten(async () => {
      const { value, ...sent } = await server.getConfig(purpose);
      const reading = documentIn(value, server.texts);
      starts.found(reading.document);
      return { value: reading, ...sent };
    });
  }

  /**
   * Returns the record of a key with which the server would start, as far as can be told; null for none. Up to 0.2.30
   * that is a plain string, if any. Rejects where the server is away.
   */
  async function storedRecord(accessKey: string): Promise<AccessKey | null> {
    const { capabilities } = server.line() ?? (await server.find());
    if (capabilities.config === undefined) return recordOf(accessKey, {});
    try {
      const { configuration } = (await read('caller')).value;
      return configuration.keys.find((key) => key.accessKey === accessKey) ?? null;
    } catch (error) {
      if (error instanceof UpstreamError) throw error;
      return null;
    }
  }

  /** Reads the present bytes, unchecked. */
  const readBytes = () => unlessHalfWritten(() => server.getConfig());

  /**
   * Reads again what is not a configuration, because servers truncate their file before they write it, and read it
   * meanwhile.
   */
  async function unlessHalfWritten<T>(look: () => Promise<T>, again = 2): Promise<T> {
    try {
      return await look();
    } catch (error) {
      const isHalf = error instanceof DomainError && HALF_WRITTEN.has(error.code);
      if (!isHalf || again === 0 || isClosing()) throw error;
      await timers.wait(WRITING);
      return unlessHalfWritten(look, again - 1);
    }
  }

  /**
   * Reads the configuration that is to be replaced; null if it is missing or broken, which may be why it is replaced.
   */
  async function before(): Promise<ReadConfiguration | null> {
    try {
      return (await read('caller')).value;
    } catch (error) {
      if (!(error instanceof DomainError) || !REPLACEABLE.has(error.code)) throw error;
      log.warn({ reason: error.message }, 'no version is kept of the configuration before: it cannot be read');
      return null;
    }
  }

  /** Keeps a configuration as a version. Rejects with `configWriteFailed`. */
  async function keep(bytes: Buffer, { forever = false } = {}): Promise<void> {
    await versions?.keep(bytes, { forever }).catch((error: unknown) => {
      throw new DomainError('configWriteFailed', `the version before could not be kept: ${failureWords(error)}`);
    });
  }

  /**
   * Sends it, and takes nobody's keys back; within a turn of the queue. What the server makes of it has no comments.
   */
  async function send(document: ConfigurationDocument): Promise<void> {
    try {
      await server.putConfig(document.bytes);
    } catch (error) {
      // It may remove keys from the server all the same.
      if (mayHaveHappened(error)) await storeMemory().catch(() => undefined);
      throw error;
    }
    starts.wrote(document);
    await storeMemory();
    onStored();
  }

  /** Makes the server write its memory over what a replacement took from it. */
  async function storeMemory(): Promise<void> {
    const line = server.line();
    if (line?.capabilities.bulk === true) {
      await server.bulkCreateUsers(0, null);
      return;
    }
    for (const { accessKey } of keys.entries()) {
      const { value } = await server.getUser(accessKey);
      if (value === undefined) continue;
      await server.setLimit(accessKey, value.limitBytes);
      return;
    }
  }

  /** Waits until a list shows the keys of a replacement, or should have long ago. */
  async function live(wanted: readonly AccessKey[], sentAt: number): Promise<void> {
    while (!isClosing() && clock.monotonic() < sentAt + SETTLED_AFTER) {
      const isTaken = await listRefresh.fresh('poll').then(
        () => true,
        () => false,
      );
      if (isTaken && hasExactly(keys, wanted)) return;
      await timers.wait(LOOKS);
    }
  }

  /** The keys that go are those of the server and of its file: either may have some that the other lacks. */
  function lossesOf(present: ReadConfiguration | null, next: ReadConfiguration | null) {
    // The server itself refuses a configuration without a mode.
    if (next === null || next.configuration.mode === null) return { ...NOTHING_LOST, removed: 0 };
    const staying = new Set(next.configuration.keys.map(({ accessKey }) => accessKey));
    const all = [...keys.entries(), ...(present?.configuration.keys ?? [])].map(({ accessKey }) => accessKey);
    const removed = new Set(all.filter((accessKey) => !staying.has(accessKey))).size;
    return {
      ...(present === null ? NOTHING_LOST : lossesBetween(present.document, next.document)),
      removed: next.configuration.mode === 'server' ? removed : 0,
    };
  }

  async function replace(body: Buffer, reason: Replacement['reason']): Promise<ReadConfiguration | null> {
    const present = await before();
    const next = asConfiguration(body, server.texts);
    const verdict = judgeReplacement({ reason, ...lossesOf(present, next) });
    const forever = verdict.forever || (next !== null && starts.ended(next.document) !== null);
    if (present !== null) await keep(present.document.bytes, { forever });
    await server.putConfig(body);
    if (next !== null) starts.wrote(next.document);
    await starts.noted();
    verdict.report(log, { upstream: server.name }, present !== null && versions !== null);
    unconfirmed.clear();
    if (next !== null) onReplaced(next.configuration, false);
    return next;
  }

  /** Key writes wait until it is live, because they would write the previous keys over it. */
  function replaceInTurn(body: Buffer, reason: Replacement['reason']): Promise<void> {
    return new Promise((resolve, reject) => {
      void queue.take(async () => {
        const next = await replace(body, reason).then(
          (taken) => {
            resolve();
            return taken;
          },
          (error: unknown) => {
            reject(error);
            return null;
          },
        );
        if (next?.configuration.mode === 'server') await live(next.configuration.keys, clock.monotonic());
      });
    });
  }

  return {
    read,
    readBytes,
    storedRecord,
    /** Returns why the server would no longer start from what a caller has sent; null while nothing is wrong. */
    startError: () => starts.trouble,
    keep,
    send,
    document: {
      keepVersion: () => queue.take(keepVersion),
      read: async () => [(await readBytes()).value],
      replace: (body: Buffer) => replaceInTurn(body, 'replaced'),
      versions: versions && {
        list: versions.list,
        read: versions.read,
        present: async () => (await readBytes()).value,
        restore: (content: Buffer) => replaceInTurn(content, 'restored'),
      },
      patch: (patch: ConfigurationPatch): Promise<ConfigurationFingerprint> =>
        queue.take(async () => {
          await refuseLater(server);
          const { document, configuration: before } = (await read('caller')).value;
          const made = await inTurns(patchDocumentSteps(document, patch));
          const { document: patched, configuration, fingerprint } = made;
          await inTurns(refuseEndedStartSteps(document, patched, fileServers(server)));
          if (patch.mayLockOut !== true) await inTurns(refuseLockOutSteps(document, configuration.listener));
          if (patched === document) return fingerprint;
          await keep(document.bytes);
          await send(patched);
          onReplaced(struckConfiguration({ ...configuration, keys: before.keys }, server.texts), true);
          return fingerprint;
        }),
    },
    /**
     * Changes rules or DNS settings in it, and takes nobody's keys back. Rejects with `outboundNotConfigured`,
     * `invalidBody`.
     */
    change: (change: Pick<ConfigurationChange, 'rules' | 'dns'>): Promise<ServerConfiguration> =>
      queue.take(async () => {
        await refuseLater(server);
        const { document } = (await read('caller')).value;
        const changed = shaped(() =>
          changeDocument(document, ownChange(change, server.texts), undefined, fileServers(server)),
        );
        if (changed !== document) {
          await keep(document.bytes);
          await send(changed);
        }
        return struckConfiguration(readDocument(changed.bytes).configuration, server.texts);
      }),
  };
}

/** The server itself, once its line is known. */
export function fileServers(server: UpstreamServer): readonly FileServer[] {
  const [line, version] = [server.line(), server.version()];
  return line === null || version === null ? [] : [{ file: line.file, version }];
}

const NOTHING_LOST = { losesInbounds: false, lostMembers: [] };

/** The failures of a server that has no configuration, or none that can be read. */
export const REPLACEABLE: ReadonlySet<string> = new Set([
  'noConfigPath',
  'configReadFailed',
  'configStripFailed',
  'configParseFailed',
]);

const HALF_WRITTEN: ReadonlySet<string> = new Set(['configStripFailed', 'configParseFailed']);

/**
 * Rejects with `configRefused` where it is not known how the server, which may have been updated just now, reads its
 * configuration.
 */
export async function refuseLater(server: Pick<UpstreamServer, 'isLater' | 'version' | 'status'>): Promise<void> {
  await server.status('caller');
  if (!server.isLater()) return;
  throw new DomainError('configRefused', `the server reports version ${server.version()}: ${UNCHANGED}`);
}

function documentIn(bytes: Buffer, texts: ServerTexts): ReadConfiguration {
  try {
    return struckDocument(bytes, texts);
  } catch (error) {
    throw new DomainError('configParseFailed', texts.inSentence(failureWords(error)));
  }
}

/** The document as the server has it, and its content as it may be shown. */
function struckDocument(bytes: Buffer, texts: ServerTexts): ReadConfiguration {
  const { document, configuration } = readDocument(bytes);
  return { document, configuration: struckConfiguration(configuration, texts) };
}

/** Reads a body, or returns null where it is no configuration: the server decides whether it takes it. */
function asConfiguration(body: Buffer, texts: ServerTexts): ReadConfiguration | null {
  try {
    return struckDocument(body, texts);
  } catch (error) {
    if (error instanceof JsonSyntaxError || error instanceof ConfigurationShapeError) return null;
    throw error;
  }
}

function shaped<T>(change: () => T): T {
  try {
    return change();
  } catch (error) {
    if (error instanceof ConfigurationShapeError) throw new DomainError('invalidBody', error.message);
    throw error;
  }
}

/** Returns whether the keys in memory are these, names aside: some lines do not tell them. */
function hasExactly(keys: KeyReader, wanted: readonly AccessKey[]): boolean {
  if (keys.size !== wanted.length) return false;
  return wanted.every(({ accessKey, limitBytes }) => keys.get(accessKey)?.limitBytes === limitBytes);
}
