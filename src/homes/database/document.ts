import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { ConfigurationDocumentPort } from '../../core/backend.js';
import { DomainError } from '../../core/errors.js';
import type { KeyReader } from '../../core/keys/types.js';
import type { ClockPort, LogPort, RandomPort } from '../../core/ports.js';
import { judgeReplacement } from '../../core/replace-policy.js';
import { inTurns } from '../../core/steps.js';
import { createTurns } from '../../core/turns.js';
import { losesInbounds, type ReadConfiguration, readDocumentSteps } from '../../document/document.js';
import { toReplacementSteps } from '../../document/replacement.js';
import { type KeptVersion, retainedVersions } from '../../document/retention.js';
import { type Connections, StatementError } from './connection.js';
import { type KeptDocument, type PresentDocument, unpack } from './kept-document.js';
import { configurationProblem } from './limits.js';
import { storedSettings } from './server-settings.js';
import { forgetVersions, HOLD_CHANGES, INSERT_CONTENT, VERSIONS, versionContent, WRITES } from './statements.js';
import type { Writes, Written } from './writes.js';

/** The configuration as a document with its kept versions. */
export interface DatabaseDocument extends ConfigurationDocumentPort {
  /** The document byte for byte, as a file would hold it. Rejects with `configReadFailed`. */
  text(): Promise<Buffer>;
  /** The same, and the number of the last write that is in it. */
  at(): Promise<{ readonly number: bigint; readonly bytes: Buffer }>;
  /** Makes it these bytes; what is a configuration for a file is one here. Rejects as `replace` does, and as `readDocument` throws. */
  put(bytes: Buffer): Promise<void>;
  /** Oldest first. */
  versions(): Promise<readonly KeptVersion[]>;
  /** Makes it what it was in a version, whose id may be shortened; resolves to that. Rejects with an `Error` for people. */
  restore(id: string): Promise<KeptVersion>;
}

export interface DocumentOptions {
  readonly connections: Pick<Connections, 'run' | 'send' | 'session'>;
  readonly writes: Pick<Writes, 'write'>;
  readonly keys: KeyReader;
  readonly kept: Pick<KeptDocument, 'current'>;
  /** Resolves once a write that was committed shows here. Rejects with `outcomeUnknown` where that cannot be seen in time. */
  readonly showing: () => Promise<void>;
  readonly guard: boolean;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly log: LogPort;
}

const DEADLINE = 30_000;
/** Tries to replace a configuration that others go on changing. */
const ATTEMPTS = 10;
/** Those of them after which the others wait. */
const ATTEMPTS_BESIDE = 2;
const CHANGED_MEANWHILE = 'KW001';

export function createDatabaseDocument(options: DocumentOptions): DatabaseDocument {
  const { connections, writes, keys, kept, clock, random, log } = options;
  const turns = createTurns();
  /** One at a time: each takes a connection, and asks over another. */
  const held = (work: () => Promise<Written>) => turns.take('held', () => holdingChanges(connections, work));

  async function current(): Promise<PresentDocument> {
    try {
      return await kept.current();
    } catch (error) {
      throw new DomainError('configReadFailed', wordsOf(error));
    }
  }

  async function at(): Promise<{ readonly number: bigint; readonly bytes: Buffer }> {
    const { number, document } = await current();
    return { number, bytes: document.bytes };
  }

  async function put(next: ReadConfiguration, reason: 'replaced' | 'restored'): Promise<void> {
    const { configuration } = next;
    const problem = configurationProblem(configuration);
    if (problem !== null) throw new DomainError('configFormatFailed', problem);
    const content = await store(next.document.bytes);
    const attempt = async (): Promise<Written> => {
      const before = await kept.current();
      const isServer = configuration.mode === 'server';
      const given = new Set(configuration.keys.map(({ accessKey }) => accessKey));
      const removed = isServer ? [...keys.entries()].filter(({ accessKey }) => !given.has(accessKey)).length : 0;
      const isLosing = losesInbounds(before.document, next.document);
      const verdict = judgeReplacement({ reason, losesInbounds: isLosing, removed }, options.guard);
      const written = await writes.write(
        WRITES.putDocument({
          expected: before.number,
          content,
          settings: isServer ? storedSettings(configuration) : null,
          keys: isServer ? configuration.keys : [],
          version: {
            id: versionId(before.document.bytes, clock.now()),
            content: await store(before.document.bytes),
            forever: verdict.forever,
          },
        }),
        { until: clock.monotonic() + 2 * DEADLINE, statement: DEADLINE },
      );
      if (written.kind === 'done') {
        verdict.report(log);
        if (!isServer)
          log.warn({ mode: configuration.mode }, 'the configuration is not applied: its mode is not "server"');
      }
      return written;
    };
    for (let count = 1; ; count += 1) {
      const written = count <= ATTEMPTS_BESIDE ? await attempt() : await held(attempt);
      if (written.kind === 'done') return;
      const isOvertaken = written.kind === 'nothing' && written.sqlState === CHANGED_MEANWHILE;
      if (!isOvertaken || count === ATTEMPTS) throw failureOf(written);
    }
  }

  const store = (bytes: Buffer) => storeContent(bytes, { connections, random, deadline: DEADLINE });

  const versions = () => readVersions(connections);

  /** Removes the versions that need not stay; that some are too many for a while harms nobody. */
  async function forgetOld(): Promise<void> {
    const kept = await versions();
    const staying = retainedVersions(kept, clock.now());
    const going = kept.filter(({ id }) => !staying.has(id));
    if (going.length > 0) await connections.run(forgetVersions(going.map(({ id }) => id)), DEADLINE);
  }

  async function replaceBy(next: ReadConfiguration, reason: 'replaced' | 'restored'): Promise<void> {
    try {
      await put(next, reason);
    } catch (error) {
      throw error instanceof DomainError ? error : new DomainError('configWriteFailed', wordsOf(error));
    }
    // It has happened: what goes wrong from here on must not be told as if it had not.
    await options.showing();
    await forgetOld().catch((error: unknown) =>
      log.warn(
        { reason: wordsOf(error) },
        'kept versions that need not stay could not be removed; the next write does it',
      ),
    );
  }

  return {
    at,
    text: async () => (await at()).bytes,
    read: async () => (await current()).compact(),
    replace: async (body) => replaceBy(await inTurns(toReplacementSteps(body, readDocumentSteps)), 'replaced'),
    put: async (bytes) => replaceBy(await inTurns(readDocumentSteps(bytes)), 'restored'),
    versions,
    async restore(id) {
      const found = (await versions()).filter((version) => version.id.startsWith(id));
      const [version] = found;
      if (version === undefined) throw new Error(`There is no kept version ${id}.`);
      if (found.length > 1) throw new Error(`${found.length} kept versions begin with ${id}: give more of the id.`);
      const [rows] = await connections.run(versionContent(version.id), DEADLINE);
      const bytes = await unpack(Buffer.from(rows?.[0]?.[0] ?? '', 'hex'));
      await replaceBy(await inTurns(readDocumentSteps(bytes)), 'restored');
      return version;
    },
  };
}

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

/** The kept versions, oldest first. */
export async function readVersions(connections: Pick<Connections, 'run'>): Promise<readonly KeptVersion[]> {
  const [rows = []] = await connections.run(VERSIONS, DEADLINE);
  return rows.map(([id, keptAt, forever]) => ({ id: id ?? '', keptAt: Number(keptAt), forever: forever === 't' }));
}

function failureOf(written: Exclude<Written, { kind: 'done' }>): DomainError {
  return written.kind === 'unknown'
    ? new DomainError('outcomeUnknown')
    : new DomainError('configWriteFailed', written.reason);
}

function wordsOf(error: unknown): string {
  if (error instanceof DomainError) return error.detail === '' ? error.code : error.detail;
  if (error instanceof StatementError) return error.message;
  return error instanceof Error ? error.message : String(error);
}

/** What a version is called: the time and the beginning of the content's SHA-256, as those of files are. */
export function versionId(bytes: Buffer, now: number): string {
  const time = new Date(now).toISOString().replaceAll(/[-:.]/g, '');
  return `${time}-${hash('sha256', bytes).slice(0, 32)}`;
}
