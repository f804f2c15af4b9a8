import { webcrypto } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { ConfigurationDocumentPort, ConfigurationFingerprint, ConfigurationPatch } from '../../core/backend.js';
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
import { type KeptVersion, retainedVersions, versionNamed } from '../../document/retention.js';
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
  /** Resolves once a write that was committed shows here. Rejects with `outcomeUnknown` where that cannot be seen in time. */
  readonly showing: () => Promise<void>;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly log: LogPort;
}

const DEADLINE = 30_000;
/** Tries to replace a configuration that others go on changing. */
const ATTEMPTS = 10;
/** Tries before the others are made to wait. */
const ATTEMPTS_BESIDE = 2;
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
      // As one that is meant to be what it is: who takes a member out by its name does not lose it.
      return this.#next(await inTurns(readDocumentSteps(patched.document.bytes)), 'restored', 'replaced');
    });
    if (fingerprint === null) throw new DomainError('configWriteFailed');
    return fingerprint;
  }

  /** Reads the document byte for byte, as a file would hold it. Rejects with `configReadFailed`. */
  async text(): Promise<Buffer> {
    return (await this.at()).bytes;
  }

  /** Reads the same as `text`, with the number of the last write that is in it. */
  async at(): Promise<{ readonly number: bigint; readonly bytes: Buffer }> {
    const { number, document } = await this.#current();
    return { number, bytes: document.bytes };
  }

  /** Makes it these bytes; what is a configuration for a file is one here. Rejects as `replace` does, and as `readDocument` throws. */
  async put(bytes: Buffer): Promise<void> {
    await this.#replaceWhole(await inTurns(readDocumentSteps(bytes)), 'restored');
  }

  /** Reads the kept versions, oldest first. */
  async versions(): Promise<readonly KeptVersion[]> {
    const [rows = []] = await this.#options.connections.run(VERSIONS, DEADLINE);
    return rows.map(([id, keptAt, forever]) => ({ id: id ?? '', keptAt: Number(keptAt), forever: forever === 't' }));
  }

  /** Makes it what it was in a version, whose id may be shortened; resolves to that. Rejects with an `Error` for people. */
  async restore(id: string): Promise<KeptVersion> {
    const version = versionNamed(await this.versions(), id);
    await this.put(await this.version(version.id));
    return version;
  }

  /** Reads the content of a version. */
  async version(id: string): Promise<Buffer> {
    const [rows] = await this.#options.connections.run(versionContent(id), DEADLINE);
    return unpack(Buffer.from(rows?.[0]?.[0] ?? '', 'hex'));
  }

  readonly keepVersion = (): Promise<void> => this.#undo.before();

  /** Notes that settings became others, whoever changed them. */
  settingsChanged(): void {
    this.#undo.settingsChanged();
  }

  async #keep(): Promise<void> {
    const { bytes } = await this.at();
    const [id, content] = [await versionId(bytes, this.#options.clock.now()), await this.#store(bytes)];
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

  /** Replaces the document by what `make` makes of it, called for each attempt; null leaves it as it is. */
  async #replaceBy(make: MakeNext): Promise<void> {
    try {
      await this.#write(make);
    } catch (error) {
      throw error instanceof DomainError ? error : new DomainError('configWriteFailed', wordsOf(error));
    }
    // It has happened: what goes wrong from here on must not be told as if it had not.
    await this.#options.showing();
    await this.#forgetOldOrSay();
  }

  /** `reason` is that by which losses are judged, `put` the one that is told. */
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

  /** Writes the document, again where others changed the state meanwhile. */
  async #write(make: MakeNext): Promise<void> {
    for (let count = 1; ; count += 1) {
      // Attempts that hold others up go one at a time: each takes a connection, and asks over another.
      const written =
        count <= ATTEMPTS_BESIDE
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
      id: await versionId(bytes, clock.now()),
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

  /** Counts the keys that are not among these, of which none stands twice. */
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

  /** Removes the versions that need not stay; that some are too many for a while harms nobody. */
  async #forgetOld(): Promise<void> {
    const { connections, clock } = this.#options;
    const kept = await this.versions();
    const staying = retainedVersions(kept, clock.now());
    const going = kept.filter(({ id }) => !staying.has(id));
    if (going.length > 0) await connections.run(forgetVersions(going.map(({ id }) => id)), DEADLINE);
  }
}

interface Next extends ReadConfiguration, Pick<DocumentPut, 'content' | 'settings' | 'keys'> {
  readonly reason: PutReason;
}

type MakeNext = (before: PresentDocument) => Promise<Next | null>;

/** Does `work` while changes of others wait; all the same where the database does not let them, or no longer. */
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
  /** Milliseconds. */
  readonly deadline: number;
}

/** Puts a content beside the others, packed; resolves to its id. Rejects with `StatementError`. */
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

/** Returns the id of a version: the time and the beginning of the content's SHA-256, as those of files have it. */
export async function versionId(bytes: Buffer, now: number): Promise<string> {
  const time = new Date(now).toISOString().replaceAll(/[-:.]/g, '');
  const digest = await webcrypto.subtle.digest('SHA-256', bytes);
  return `${time}-${Buffer.from(digest).toString('hex', 0, 16)}`;
}
