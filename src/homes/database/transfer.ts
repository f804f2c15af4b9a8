import { hash } from 'node:crypto';
import type { RecordChange, RecordKind } from '../../core/kept-records.js';
import type { KeptCounters } from '../../core/keys/types.js';
import type { ServerConfiguration } from '../../core/model.js';
import type { ClockPort, ProgressPort, RandomPort } from '../../core/ports.js';
import { finish, pieces } from '../../core/steps.js';
import { readDocument } from '../../document/document.js';
import { contentDigest, versionId } from '../../document/retention.js';
import { type Connections, openConnections, type Row, StatementError } from './connection.js';
import { storeContent } from './document.js';
import type { ChangeRefused } from './document-changes.js';
import { arraysOf } from './key-columns.js';
import { canHold, configurationProblem } from './limits.js';
import { storedSettings } from './server-settings.js';
import {
  addRecords,
  beginHolding,
  FORGET_COUNTED,
  giveCounters,
  IMPORT_STATE,
  keptOf,
  listKeys,
  putCounters,
  rememberReports,
  SNAPSHOT,
  seeGateway,
  WRITES,
} from './statements.js';
import { type Ask, readStoredDocument } from './stored-document.js';

/** Everything that an embedded Keyway keeps. */
export interface TransferredState {
  /** The configuration, byte for byte. */
  readonly configuration: Buffer;
  readonly counters: Iterable<KeptCounters>;
  /** Ids of remembered reports, oldest first. */
  readonly reports: readonly string[];
  /** Keyway's own records that move with it: the named tokens, who made keys for them, and the notes of keys. */
  readonly records: readonly RecordChange[];
}

/** The result of an import. */
export interface Imported {
  readonly keys: number;
  readonly tokens: number;
  /** Names of tokens that the database has, or had, and that therefore did not change. */
  readonly present: readonly string[];
}

export interface ImportOptions extends ExportOptions {
  /** True replaces existing keys; otherwise they are an error. */
  readonly replaces: boolean;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  /** Milliseconds for which the import may be idle, since gateways wait for it; default 10 s. */
  readonly standing?: number;
}

const NEVER = new AbortController().signal;
const DEADLINE = 600_000;
const STANDING = 10_000;
/** Keys or counters in one message, so that a million of them need not be in memory at once. */
const AT_ONCE = 20_000;
/** The most attempts to find a moment without writes. */
const ATTEMPTS = 20;
/** SQLSTATE of a session that was ended because it was idle within a transaction. */
const STOOD_STILL = '25P03';

/** Imports a whole state into a database or, with an `Error` for the user, nothing. */
export async function importState(state: TransferredState, options: ImportOptions): Promise<Imported> {
  const { url, replaces, random, clock, progress, refused, standing = STANDING, stop = NEVER } = options;
  const connections = openConnections({ url, most: 2 });
  /** The time of the database's last answer, while the import holds up gateways. */
  let answeredAt = Number.POSITIVE_INFINITY;

  // If it is ended, its connection goes with it.
  const store = (bytes: Buffer) =>
    connections.session((_run, send) =>
      unlessStopped(stop, () => storeContent(bytes, { connections: { send }, random, deadline: DEADLINE })),
    );

  async function readPresent(): Promise<Replaced> {
    progress.show('reading the configuration that is there');
    const { seen, bytes } = await inSnapshot(connections, stop, async (ask) => {
      const document = await readStoredDocument(ask, refused);
      await ask(SNAPSHOT.commit);
      return document;
    });
    return { number: seen.state, id: versionId(clock.now(), await contentDigest(bytes)), content: await store(bytes) };
  }

  async function attempt(
    { keys, ...configuration }: ServerConfiguration,
    content: string,
    before: Replaced,
    isLast: boolean,
  ): Promise<ReadonlySet<string> | null> {
    return connections.session(async (run) => {
      const one = async (text: string): Promise<readonly Row[]> => {
        const [rows = []] = await unlessStopped(stop, () => run(text, DEADLINE));
        answeredAt = clock.monotonic();
        return rows;
      };
      await one(beginHolding(standing));
      const [[number = null, count] = []] = await one(IMPORT_STATE);
      if (!replaces && count !== '0')
        throw new Error(`the database holds ${count} keys already: --replace replaces what it holds`);
      if (BigInt(number ?? 0) !== before.number && !isLast) {
        await one('rollback');
        return null;
      }
      if (replaces) await one(FORGET_COUNTED);
      const put = WRITES.putDocument({
        expected: BigInt(number ?? 0),
        content,
        settings: storedSettings({ keys: [], ...configuration }),
        keys: arraysOf([]),
        version: { id: before.id, content: before.content, forever: count !== '0' },
      });
      const [[taken = null] = []] = await one(put(random.uuid()));
      const write = BigInt(taken ?? 0);
      let written = 0;
      for (const some of pieces(keys, AT_ONCE)) {
        progress.show('writing keys', written / keys.length);
        await one(listKeys(write, written, some));
        written += some.length;
      }
      const gateway = random.uuid();
      let counted = 0;
      for (const some of pieces(state.counters, AT_ONCE)) {
        progress.show(`${counted} counters written`);
        // What cannot be held is of keys that are gone, and can never come back here.
        const held = some.filter(({ accessKey }) => canHold(accessKey));
        await one(putCounters(write, gateway, held));
        counted += some.length;
      }
      progress.show('writing counters of keys that have none');
      for (const some of pieces(keys, AT_ONCE)) await one(giveCounters(write, some));
      await one(seeGateway(gateway));
      await one(rememberReports(state.reports.filter(canHold)));
      const tokens = ofKind(state.records, 'tokens').map((token) => ({ ...token, mark: markOf(token) }));
      const marks = tokens.map(({ mark }) => mark);
      // One that was removed since an earlier import must not come back with the next.
      const imported = new Set(texts(await one(keptOf('imported', marks))));
      const coming = tokens.filter(({ mark }) => !imported.has(mark));
      const added = new Set(texts(await one(addRecords(write, 'tokens', coming))));
      await one(
        addRecords(
          write,
          'imported',
          coming.flatMap(({ id, mark }) => (added.has(id) ? [{ id: mark, body: JSON.stringify(id) }] : [])),
        ),
      );
      const bodies = new Set<string | null>([...added].map((name) => JSON.stringify(name)));
      const makers = ofKind(state.records, 'makers').filter(({ body }) => bodies.has(body));
      for (const some of pieces(makers, AT_ONCE)) await one(addRecords(write, 'makers', some));
      for (const some of pieces(ofKind(state.records, 'notes'), AT_ONCE)) await one(addRecords(write, 'notes', some));
      // From here on the outcome is unknown until this is answered.
      await run('commit', DEADLINE);
      return added;
    });
  }

  try {
    // Read twice, so that its keys are not in memory together with those of the present configuration.
    readTaken(state.configuration);
    let before = await readPresent();
    const configuration = readTaken(state.configuration);
    progress.show('writing the configuration');
    const content = await store(state.configuration);
    let added = await attempt(configuration, content, before, false);
    for (let n = 2; added === null; n += 1) {
      before = await readPresent();
      added = await attempt(configuration, content, before, n >= ATTEMPTS);
    }
    const taken = added;
    const present = ofKind(state.records, 'tokens').flatMap(({ id }) => (taken.has(id) ? [] : [id]));
    return { keys: configuration.keys.length, tokens: taken.size, present };
  } catch (error) {
    const waited = clock.monotonic() - answeredAt;
    if (!(error instanceof StatementError)) throw error;
    if (error.sqlState !== STOOD_STILL && !(error.reached === 'unknown' && waited >= standing)) throw error;
    // The database counts from when it answered, this process from when it read that.
    const stood = Math.max(waited, standing);
    const seconds = (milliseconds: number) => `${Math.round(milliseconds / 100) / 10} seconds`;
    throw new Error(
      `it stood still for ${seconds(stood)}, and the database undoes an import that stands still for ${seconds(standing)}, because gateways wait for it: nothing was changed; run it again when this machine has less to do`,
      { cause: error },
    );
  } finally {
    progress.clear();
    await connections.close();
  }
}

/** The name under which the import of a token is kept, so that another token by its name is not taken for it. */
const markOf = ({ id, body }: RecordChange): string => hash('sha256', `${id}\0${body}`, 'hex');

const ofKind = (records: readonly RecordChange[], wanted: RecordKind): readonly RecordChange[] =>
  records.filter(({ kind, id }) => kind === wanted && canHold(id));
const texts = (rows: readonly Row[]): readonly string[] => rows.map(([id]) => id ?? '');

/** A configuration that an import replaces. */
interface Replaced {
  /** The number of the state that it belongs to. */
  readonly number: bigint;
  /** Ids of its version and of its content. */
  readonly id: string;
  readonly content: string;
}

function readTaken(bytes: Buffer): ServerConfiguration {
  const { configuration } = readDocument(bytes);
  if (configuration.mode !== 'server') throw new Error('its mode is not "server": there is nothing to serve from it');
  const problem = finish(configurationProblem(configuration));
  if (problem !== null) throw new Error(`PostgreSQL cannot hold it: ${problem}`);
  return configuration;
}

export interface ExportOptions {
  /** The database, which has the schema. */
  readonly url: string;
  /** Called for changes that the stored configuration has no place for. */
  readonly refused: ChangeRefused;
  readonly progress: ProgressPort;
  /** Ends the work, an import before it has committed; its reason becomes the error. */
  readonly stop?: AbortSignal;
}

/** The state in the database at one moment. */
export interface ExportedState {
  readonly configuration: Buffer;
  /** Read while they are iterated: once, and before `take` has ended. */
  readonly counters: AsyncIterable<KeptCounters>;
  /** Ids of the newest remembered reports, oldest first: as many as a Keyway over a file remembers. */
  readonly reports: readonly string[];
  /** The notes of keys as records have them, by their keys. */
  readonly notes: ReadonlyMap<string, string>;
}

/** Hands the state of one snapshot to `take`, its counters as they are read. Rejects with an `Error` for the user. */
export async function exportState<T>(
  { url, refused, progress, stop = NEVER }: ExportOptions,
  take: (state: ExportedState) => Promise<T>,
): Promise<T> {
  const connections = openConnections({ url, most: 1 });
  try {
    return await inSnapshot(connections, stop, async (ask) => {
      progress.show('reading the configuration');
      const { bytes: configuration } = await readStoredDocument(ask, refused);
      const reports = (await ask(SNAPSHOT.reports)).map(([id]) => id ?? '');
      const notes = new Map((await ask(SNAPSHOT.notes)).map(([id, body]) => [id ?? '', body ?? '']));
      return take({ configuration, counters: countersOf(ask, progress), reports, notes });
    });
  } finally {
    progress.clear();
    await connections.close();
  }
}

/**
 * Yields the counters and then ends the snapshot, so that the database need not keep it for what is done with them
 * afterwards.
 */
async function* countersOf(ask: Ask, progress: ProgressPort): AsyncGenerator<KeptCounters, void> {
  await ask(SNAPSHOT.declareCounters);
  for (let count = 0; ; ) {
    const rows = await ask(SNAPSHOT.fetchCounters);
    if (rows.length === 0) break;
    for (const row of rows) yield countersIn(row);
    count += rows.length;
    progress.show(`${count} counters read`);
  }
  await ask(SNAPSHOT.commit);
}

/** Runs `work` in one transaction, so that everything it reads is of one moment, until it ends the transaction. */
export function inSnapshot<T>(connections: Connections, stop: AbortSignal, work: (ask: Ask) => Promise<T>): Promise<T> {
  return connections.session(async (run) => {
    const ask: Ask = async (text) => (await unlessStopped(stop, () => run(text, DEADLINE)))[0] ?? [];
    await ask(SNAPSHOT.begin);
    return work(ask);
  });
}

/** Rejects with the reason of `stop` as soon as it is aborted, whatever happens to the work. */
export async function unlessStopped<T>(stop: AbortSignal, work: () => Promise<T>): Promise<T> {
  stop.throwIfAborted();
  let onStop = (): void => undefined;
  const stopped = new Promise<never>((_resolve, reject) => {
    onStop = () => reject(stop.reason);
    stop.addEventListener('abort', onStop);
  });
  try {
    return await Promise.race([work(), stopped]);
  } finally {
    stop.removeEventListener('abort', onStop);
  }
}

function countersIn([accessKey, up, down, connections, createdAt, leftAt = null]: Row): KeptCounters {
  return {
    accessKey: accessKey ?? '',
    bytesUp: BigInt(up ?? 0),
    bytesDown: BigInt(down ?? 0),
    connections: BigInt(connections ?? 0),
    createdAt: Number(createdAt),
    leftAt: leftAt === null ? null : Number(leftAt),
  };
}
