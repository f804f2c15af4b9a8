import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type {
  ConfigurationDocumentPort,
  ConfigurationFingerprint,
  ConfigurationPatch,
  ConfigurationVersions,
  KeptVersion,
} from '../../core/backend.js';
import { DomainError, messageOf } from '../../core/errors.js';
import type { KeyReader } from '../../core/keys/types.js';
import type { AccessKey } from '../../core/model.js';
import { PerKeyQueue } from '../../core/per-key-queue.js';
import type { ClockPort, LogPort, RandomPort } from '../../core/ports.js';
import { judgeReplacement } from '../../core/replace-policy.js';
import { inTurns, pieces, type Steps } from '../../core/steps.js';
import { UndoVersions } from '../../core/undo-versions.js';
import { lossesBetween, type ReadConfiguration, readDocumentSteps } from '../../document/document.js';
import { patchDocumentSteps } from '../../document/patch/patch-document.js';
import { toReplacementSteps } from '../../document/replacement.js';
import { contentDigest, retainedVersions, versionId, versionNamed } from '../../document/retention.js';
import type { Connections } from './connection.js';
import { type KeptDocument, type PresentDocument, unpack } from './kept-document.js';
import { arraysOfSteps } from './key-columns.js';
import { configurationProblem } from './limits.js';
import { type PutReason, storedSettings } from './server-settings.js';
import {
  type DocumentPut,
  forgetVersions,
  HOLD_CHANGES,
  INSERT_CONTENT,
  keepVersion,
  VERSIONS,
  versionContent,
  WRITES,
} from './statements.js';
import type { Writes, Written } from './writes.js';

export interface DocumentOptions {
  readonly connections: Pick<Connections, 'run' | 'send' | 'session'>;
  readonly writes: Pick<Writes, 'write'>;
  readonly keys: KeyReader;
  readonly kept: Pick<KeptDocument, 'current'>;
  /** Resolves once a committed write is visible here. Rejects with `outcomeUnknown` if that does not happen in time. */
  readonly showing: () => Promise<void>;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly log: LogPort;
}

const DEADLINE = 30_000;
/** The most attempts to replace a configuration that others keep changing. */
const ATTEMPTS = 10;
/** The attempts before the others are made to wait. */
const UNHELD_ATTEMPTS = 2;
const CHANGED_MEANWHILE = 'KW001';

/** The configuration as a document with its kept versions. */
export class DatabaseDocument implements ConfigurationDocumentPort {
  readonly #options: DocumentOptions;
  readonly #queue = new PerKeyQueue();
  readonly #undo: UndoVersions;

  constructor(options: DocumentOptions) {
    this.#options = options;
    this.#undo = new UndoVersions({ ...options, keep: () => this.#keep() });
  }

  async read(): Promise<readonly Buffer[]> {
    return (await this.#current()).compact();
  }

  async replace(body: Buffer): Promise<void> {
    await this.#replaceWhole(await inTurns(toReplacementSteps(body, readDocumentSteps)), 'replaced');
  }

  async patch(patch: ConfigurationPatch): Promise<ConfigurationFingerprint> {
    let fingerprint: ConfigurationFingerprint | null = null;
    await this.#replaceBy(async ({ document }) => {
      const patched = await inTurns(patchDocumentSteps(document, patch));
      ({ fingerprint } = patched);
      if (patched.document === document) return null;
      // As an intended content: a patch that removes a member by name loses nothing by mistake.
      return this.#next(await inTurns(readDocumentSteps(patched.document.bytes)), 'restored', 'replaced');
    });
    if (fingerprint === null) throw new DomainError('configWriteFailed');
    return fingerprint;
  }

  /** Reads the document, byte for byte as a file would hold it. Rejects with `configReadFailed`. */
  async text(): Promise<Buffer> {
    return (await this.at()).bytes;
  }

  /** Reads the same as `text`, with the number of the last write in it. */
  async at(): Promise<{ readonly number: bigint; readonly bytes: Buffer }> {
    const { number, document } = await this.#current();
    return { number, bytes: document.bytes };
  }

  /**
   * Replaces the document; a configuration that is valid for a file is valid here. Rejects as `replace` does, and as
   * `readDocument` throws.
   */
  async put(bytes: Buffer): Promise<void> {
    await this.#replaceWhole(await inTurns(readDocumentSteps(bytes)), 'restored');
  }

  /** Makes it what `change` makes of it as it stands, called again where others changed it meanwhile. Rejects as `replace` does. */
  async change(change: (bytes: Buffer) => Buffer): Promise<void> {
    await this.#replaceBy(async ({ document }) =>
      this.#next(await inTurns(readDocumentSteps(change(document.bytes))), 'restored', 'replaced'),
    );
  }

  readonly versions: ConfigurationVersions = {
    list: () => this.#versions(),
    read: (id) => this.#version(id),
    present: () => this.text(),
    restore: (content) => this.put(content),
  };

  async #versions(): Promise<readonly KeptVersion[]> {
    const [rows = []] = await this.#options.connections.run(VERSIONS, DEADLINE);
    return rows.map(([id, keptAt, forever]) => ({ id: id ?? '', keptAt: Number(keptAt), forever: forever === 't' }));
  }

  /** Restores a version, whose id may be shortened; resolves to the version. Rejects with an `Error` for the user. */
  async restore(id: string): Promise<KeptVersion> {
    const version = versionNamed(await this.#versions(), id);
    await this.put(await this.#version(version.id));
    return version;
  }

  async #version(id: string): Promise<Buffer> {
    const [[[content = null] = []] = []] = await this.#options.connections.run(versionContent(id), DEADLINE);
    if (content === null) throw new Error(`version ${id} is no longer kept`);
    return unpack(Buffer.from(content, 'hex'));
  }

  readonly keepVersion = (): Promise<void> => this.#undo.before();

  /** Notes that settings have changed, through any gateway. */
  settingsChanged(): void {
    this.#undo.settingsChanged();
  }

  async #keep(): Promise<void> {
    const { bytes } = await this.at();
    const [id, content] = [versionId(this.#options.clock.now(), await contentDigest(bytes)), await this.#store(bytes)];
    await this.#options.connections.run(keepVersion(id, content), DEADLINE);
    await this.#forgetOldOrSay();
  }

  async #current(): Promise<PresentDocument> {
    try {
      return await this.#options.kept.current();
    } catch (error) {
      throw new DomainError('configReadFailed', wordsOf(error));
    }
  }

  async #replaceWhole(whole: ReadConfiguration, reason: PutReason): Promise<void> {
    let next: Next | null = null;
    await this.#replaceBy(async () => {
      next ??= await this.#next(whole, reason);
      return next;
    });
  }

  /** Replaces the document by the result of `make`, which is called for each attempt; null leaves it as it is. */
  async #replaceBy(make: MakeNext): Promise<void> {
    try {
      await this.#write(make);
    } catch (error) {
      throw error instanceof DomainError ? error : new DomainError('configWriteFailed', wordsOf(error));
    }
    // The write has happened; a later failure must not look as if it had not.
    await this.#options.showing();
    await this.#forgetOldOrSay();
  }

  /** Prepares the next document. `reason` is the one that losses are judged by, `put` the one that is stored. */
  async #next({ document, configuration }: ReadConfiguration, reason: PutReason, put = reason): Promise<Next> {
    const problem = await inTurns(configurationProblem(configuration));
    if (problem !== null) throw new DomainError('configFormatFailed', problem);
    const isServer = configuration.mode === 'server';
    return {
      document,
      configuration,
      reason,
      content: await this.#store(document.bytes),
      settings: isServer ? { ...storedSettings(configuration), put } : null,
      keys: await inTurns(arraysOfSteps(isServer ? configuration.keys : [])),
    };
  }

  /** Writes the document, again if others have changed the state meanwhile. */
  async #write(make: MakeNext): Promise<void> {
    for (let count = 1; ; count += 1) {
      // Attempts that hold up others run one at a time, because each occupies a connection and asks over another.
      const written =
        count <= UNHELD_ATTEMPTS
          ? await this.#attempt(make)
          : await this.#queue.run('held', () => holdingChanges(this.#options.connections, () => this.#attempt(make)));
      if (written === null || written.kind === 'done') return;
      const isOvertaken = written.kind === 'nothing' && written.sqlState === CHANGED_MEANWHILE;
      if (!isOvertaken || count === ATTEMPTS) throw failureOf(written);
    }
  }

  async #attempt(make: MakeNext): Promise<Written | null> {
    const { kept, writes, clock, log } = this.#options;
    const before = await kept.current();
    const next = await make(before);
    if (next === null) return null;
    const { document, configuration, reason, content, settings, keys } = next;
    const isServer = settings !== null;
    const verdict = judgeReplacement({
      reason,
      ...lossesBetween(before.document, document),
      removed: isServer ? await inTurns(this.#removedBy(configuration.keys)) : 0,
    });
    const { bytes } = before.document;
    const version = {
      id: versionId(clock.now(), await contentDigest(bytes)),
      content: await this.#store(bytes),
      forever: verdict.forever,
    };
    const written = await writes.write(
      WRITES.putDocument({ expected: before.number, content, settings, keys, version }),
      { until: clock.monotonic() + 2 * DEADLINE, statement: DEADLINE },
    );
    if (written.kind === 'done') {
      verdict.report(log);
      if (!isServer)
        log.warn({ mode: configuration.mode }, 'the configuration is not applied: its mode is not "server"');
    }
    return written;
  }

  /** Counts the keys that are not among these, which contain no key twice. */
  *#removedBy(given: readonly AccessKey[]): Steps<number> {
    const { keys } = this.#options;
    let staying = 0;
    for (const some of pieces(given)) {
      for (const { accessKey } of some) if (keys.get(accessKey) !== undefined) staying += 1;
      yield;
    }
    return keys.size - staying;
  }

  #store(bytes: Buffer): Promise<string> {
    const { connections, random } = this.#options;
    return storeContent(bytes, { connections, random, deadline: DEADLINE });
  }

  async #forgetOldOrSay(): Promise<void> {
    await this.#forgetOld().catch((error: unknown) =>
      this.#options.log.warn(
        { reason: wordsOf(error) },
        'kept versions that need not stay could not be removed; the next write does it',
      ),
    );
  }

  /** Removes the versions that are not retained; a few too many do no harm for a while. */
  async #forgetOld(): Promise<void> {
    const { connections, clock } = this.#options;
    const kept = await this.#versions();
    const staying = retainedVersions(kept, clock.now());
    const going = kept.filter(({ id }) => !staying.has(id));
    if (going.length > 0) await connections.run(forgetVersions(going.map(({ id }) => id)), DEADLINE);
  }
}

interface Next extends ReadConfiguration, Pick<DocumentPut, 'content' | 'settings' | 'keys'> {
  readonly reason: PutReason;
}

type MakeNext = (before: PresentDocument) => Promise<Next | null>;

/** Runs `work` while changes of others wait; also runs it if the database refuses to hold them, or stops doing so. */
async function holdingChanges<T>(connections: Pick<Connections, 'session'>, work: () => Promise<T>): Promise<T> {
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  await new Promise<void>((held) => {
    const session = connections.session(async (run) => {
      await run(HOLD_CHANGES, DEADLINE);
      held();
      await ended;
      await run('rollback', DEADLINE);
    });
    session.then(held, () => held());
  });
  try {
    return await work();
  } finally {
    end();
  }
}

interface Storing {
  readonly connections: Pick<Connections, 'send'>;
  readonly random: RandomPort;
  /** In milliseconds. */
  readonly deadline: number;
}

/** Stores a compressed content; resolves to its id. Rejects with `StatementError`. */
export async function storeContent(bytes: Buffer, { connections, random, deadline }: Storing): Promise<string> {
  const id = random.uuid();
  await connections.send(INSERT_CONTENT, [id, await promisify(gzip)(bytes)], deadline);
  return id;
}

function failureOf(written: Exclude<Written, { kind: 'done' }>): DomainError {
  return written.kind === 'unknown'
    ? new DomainError('outcomeUnknown')
    : new DomainError('configWriteFailed', written.reason);
}

function wordsOf(error: unknown): string {
  if (error instanceof DomainError) return error.detail === '' ? error.code : error.detail;
  return messageOf(error);
}
