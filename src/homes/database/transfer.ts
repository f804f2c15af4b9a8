import type { KeptCounters } from '../../core/keys/types.js';
import type { ServerConfiguration } from '../../core/model.js';
import type { ClockPort, ProgressPort, RandomPort } from '../../core/ports.js';
import { finish, pieces } from '../../core/steps.js';
import { readDocument } from '../../document/document.js';
import { type Connections, openConnections, type Row, StatementError } from './connection.js';
import { storeContent, versionId } from './document.js';
import type { ChangeRefused } from './document-changes.js';
import { arraysOf } from './key-columns.js';
import { configurationProblem } from './limits.js';
import { storedSettings } from './server-settings.js';
import {
  beginHolding,
  FORGET_COUNTED,
  giveCounters,
  IMPORT_STATE,
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
}

export interface ImportOptions extends ExportOptions {
  /** True replaces keys that are there already; otherwise they are an error. */
  readonly replaces: boolean;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  /** Milliseconds that the import may stand still, since gateways wait for it; default 10 s. */
  readonly standing?: number;
}

const NEVER = new AbortController().signal;
const DEADLINE = 600_000;
const STANDING = 10_000;
/** Keys or counters of one message: a million of them need not be there at once. */
const AT_ONCE = 20_000;
/** Looks for a moment at which nobody writes. */
const ATTEMPTS = 20;
/** SQLSTATE of a session that was ended because it stood still within a transaction. */
const STOOD_STILL = '25P03';

/** Puts a state into a database: all of it or, with an `Error` for people, nothing. Resolves to the number of its keys. */
export async function importState(state: TransferredState, options: ImportOptions): Promise<number> {
  const { url, replaces, random, clock, progress, refused, standing = STANDING, stop = NEVER } = options;
  const connections = openConnections({ url, most: 2 });
  /** The time of the database's last answer, while it holds up gateways for this. */
  let answeredAt = Number.POSITIVE_INFINITY;

  // Its connection goes with it where it is ended.
  const store = (bytes: Buffer) =>
    connections.session((_run, send) =>
      unlessStopped(stop, () => storeContent(bytes, { connections: { send }, random, deadline: DEADLINE })),
    );

  async function present(): Promise<Replaced> {
    progress.show('reading the configuration that is there');
    const { number, bytes } = await inSnapshot(connections, stop, async (ask) => {
      const document = await readStoredDocument(ask, refused);
      await ask(SNAPSHOT.commit);
      return document;
    });
    return { number, id: await versionId(bytes, clock.now()), content: await store(bytes) };
  }

  async function attempt(
    { keys, ...configuration }: ServerConfiguration,
    content: string,
    before: Replaced,
    isLast: boolean,
  ): Promise<boolean> {
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
        return false;
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
        await one(putCounters(write, gateway, some));
        counted += some.length;
      }
      progress.show('writing counters of keys that have none');
      for (const some of pieces(keys, AT_ONCE)) await one(giveCounters(write, some));
      await one(seeGateway(gateway));
      await one(rememberReports(state.reports));
      // From here on it is not known whether it has happened until that is answered.
      await run('commit', DEADLINE);
      return true;
    });
  }

  try {
    // Read twice, so that its keys are not held beside those of the one that is there.
    readTaken(state.configuration);
    let before = await present();
    const configuration = readTaken(state.configuration);
    progress.show('writing the configuration');
    const content = await store(state.configuration);
    for (let n = 1; !(await attempt(configuration, content, before, n === ATTEMPTS)); n += 1) before = await present();
    return configuration.keys.length;
  } catch (error) {
    const stood = clock.monotonic() - answeredAt;
    const isEnded = error instanceof StatementError && (error.sqlState === STOOD_STILL || error.reached === 'unknown');
    if (!isEnded || stood < standing) throw error;
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

/** A configuration that an import replaces. */
interface Replaced {
  /** The number of the state that it is of. */
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
  /** The database, in which the schema is there. */
  readonly url: string;
  /** Is told of changes that the configuration, as it was put, has no place for. */
  readonly refused: ChangeRefused;
  readonly progress: ProgressPort;
  /** Ends the work, an import before it has committed, with its reason as the error. */
  readonly stop?: AbortSignal;
}

/** The state in the database at one moment. */
export interface ExportedState {
  readonly configuration: Buffer;
  /** Read while they are iterated: once, and before `take` has ended. */
  readonly counters: AsyncIterable<KeptCounters>;
  /** Ids of the newest remembered reports, oldest first: as many as a Keyway over a file remembers. */
  readonly reports: readonly string[];
}

/** Hands the state of one snapshot to `take`, its counters as they are read. Rejects with an `Error` for people. */
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
      return take({ configuration, counters: countersOf(ask, progress), reports });
    });
  } finally {
    progress.clear();
    await connections.close();
  }
}

/** The snapshot goes with the last of them: the database need not keep what it shows for what is done with them afterwards. */
async function* countersOf(ask: Ask, progress: ProgressPort): AsyncGenerator<KeptCounters, void> {
  await ask(SNAPSHOT.declareCounters);
  for (let count = 0; ; ) {
    const rows = await ask(SNAPSHOT.fetchCounters);
    if (rows.length === 0) break;
    for (const row of rows) yield keptOf(row);
    count += rows.length;
    progress.show(`${count} counters read`);
  }
  await ask(SNAPSHOT.commit);
}

/** Everything that `work` asks is of one moment, until it ends the transaction. */
function inSnapshot<T>(connections: Connections, stop: AbortSignal, work: (ask: Ask) => Promise<T>): Promise<T> {
  return connections.session(async (run) => {
    const ask: Ask = async (text) => (await unlessStopped(stop, () => run(text, DEADLINE)))[0] ?? [];
    await ask(SNAPSHOT.begin);
    return work(ask);
  });
}

/** Rejects with the reason of `stop` as soon as that is given, whatever becomes of the work. */
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

function keptOf([accessKey, up, down, connections, createdAt, leftAt = null]: Row): KeptCounters {
  return {
    accessKey: accessKey ?? '',
    bytesUp: BigInt(up ?? 0),
    bytesDown: BigInt(down ?? 0),
    connections: BigInt(connections ?? 0),
    createdAt: Number(createdAt),
    leftAt: leftAt === null ? null : Number(leftAt),
  };
}
