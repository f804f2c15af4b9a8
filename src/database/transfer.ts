import type { KeptCounters } from '../core/keys/types.js';
import type { ClockPort, ProgressPort, RandomPort } from '../core/ports.js';
import { readDocument } from '../local/document/document.js';
import type { DatabaseBackend } from './backend.js';
import { openConnections, type Row, StatementError } from './connection.js';
import { storeContent, versionId } from './document.js';
import { configurationProblem } from './limits.js';
import { storedSettings } from './server-settings.js';
import {
  beginImport,
  EXPORT,
  FORGET_COUNTED,
  IMPORT_STATE,
  listKeys,
  putCounters,
  rememberReports,
  seeGateway,
  WRITES,
} from './statements.js';

/** What an embedded Keyway keeps, whole. */
export interface TransferredState {
  /** The configuration, byte for byte. */
  readonly configuration: Buffer;
  readonly counters: Iterable<KeptCounters>;
  /** Ids of remembered reports, oldest first. */
  readonly reports: readonly string[];
}

export interface ImportOptions {
  /** Of a database whose schema is there. */
  readonly url: string;
  /** Whether keys that are there already are replaced; otherwise they are an error. */
  readonly replaces: boolean;
  /** The state that is there, of whose configuration a version is kept. It is closed once that has been read. */
  readonly present: Pick<DatabaseBackend, 'document' | 'close'>;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly progress: ProgressPort;
  /** Milliseconds that the import may stand still, since gateways wait for it; default 10 s. */
  readonly standing?: number;
}

const DEADLINE = 600_000;
const STANDING = 10_000;
/** Keys or counters of one message. */
const AT_ONCE = 20_000;
/** Looks for a moment at which nobody writes. */
const ATTEMPTS = 20;
/** SQLSTATE of a session that was ended because it stood still within a transaction. */
const STOOD_STILL = '25P03';

/** Puts a state into a database: all of it or, with an `Error` for people, nothing. Resolves to the number of its keys. */
export async function importState(state: TransferredState, options: ImportOptions): Promise<number> {
  const { url, replaces, random, clock, progress, present, standing = STANDING } = options;
  const { document, configuration } = readDocument(state.configuration);
  if (configuration.mode !== 'server') throw new Error('its mode is not "server": there is nothing to serve from it');
  const problem = configurationProblem(configuration);
  if (problem !== null) throw new Error(`PostgreSQL cannot hold it: ${problem}`);
  const connections = openConnections({ url, most: 2 });
  /** When the database answered last, while it holds up gateways for this. */
  let answeredAt = Number.POSITIVE_INFINITY;
  const { keys } = configuration;

  async function attempt(content: string, isLast: boolean): Promise<boolean> {
    const before = await present.document.at();
    const version = { id: versionId(before.bytes, clock.now()), content: await store(before.bytes) };
    return connections.session(async (run) => {
      const one = async (text: string): Promise<readonly Row[]> => {
        const [rows = []] = await run(text, DEADLINE);
        answeredAt = clock.monotonic();
        return rows;
      };
      await one(beginImport(standing));
      const [[number = null, count] = []] = await one(IMPORT_STATE);
      if (!replaces && count !== '0')
        throw new Error(`the database holds ${count} keys already: --replace replaces what it holds`);
      if (BigInt(number ?? 0) !== before.number && !isLast) {
        await one('rollback');
        return false;
      }
      await present.close();
      if (replaces) await one(FORGET_COUNTED);
      const put = WRITES.putDocument({
        expected: BigInt(number ?? 0),
        content,
        settings: storedSettings(configuration),
        keys: [],
        version: { ...version, forever: count !== '0' },
      });
      const [[taken = null] = []] = await one(put(random.uuid()));
      const write = BigInt(taken ?? 0);
      let written = 0;
      for (const some of inPieces(keys)) {
        progress.show('writing keys', written / keys.length);
        await one(listKeys(write, written, some));
        written += some.length;
      }
      const gateway = random.uuid();
      let counted = 0;
      for (const some of inPieces(state.counters)) {
        progress.show(`${counted} counters written`);
        await one(putCounters(write, gateway, some));
        counted += some.length;
      }
      await one(seeGateway(gateway));
      await one(rememberReports(state.reports));
      await one('commit');
      return true;
    });
  }

  const store = (bytes: Buffer) => storeContent(bytes, { connections, random, deadline: DEADLINE });
  try {
    progress.show('writing the configuration');
    const content = await store(document.bytes);
    for (let n = 1; !(await attempt(content, n === ATTEMPTS)); n += 1);
    return keys.length;
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

/** What a message can take, piece by piece: a million keys need not be there at once. */
function* inPieces<T>(all: Iterable<T>): Generator<readonly T[], void> {
  let piece: T[] = [];
  for (const one of all) {
    if (piece.push(one) < AT_ONCE) continue;
    yield piece;
    piece = [];
  }
  if (piece.length > 0) yield piece;
}

export interface ExportOptions {
  readonly url: string;
  readonly clock: ClockPort;
  readonly progress: ProgressPort;
}

/** What the database holds at one moment. Closes the backend once that is known. Rejects with an `Error` for people. */
export async function exportState(
  backend: Pick<DatabaseBackend, 'document' | 'close'>,
  { url, progress }: ExportOptions,
): Promise<TransferredState & { readonly counters: readonly KeptCounters[] }> {
  const connections = openConnections({ url, most: 2 });
  try {
    for (let attempt = 1; ; attempt += 1) {
      progress.show('reading the configuration');
      const { number, bytes } = await backend.document.at();
      const read = await connections.session(async (run) => {
        const one = async (text: string): Promise<readonly Row[]> => (await run(text, DEADLINE))[0] ?? [];
        await one(EXPORT.begin);
        const [[present = null] = []] = await one(EXPORT.number);
        if (BigInt(present ?? 0) !== number && attempt < ATTEMPTS) return null;
        await backend.close();
        await one(EXPORT.declare);
        const counters: KeptCounters[] = [];
        for (;;) {
          const rows = await one(EXPORT.fetch);
          if (rows.length === 0) break;
          for (const row of rows) counters.push(keptOf(row));
          progress.show(`${counters.length} counters read`);
        }
        const reports = (await one(EXPORT.reports)).map(([id]) => id ?? '');
        await one(EXPORT.commit);
        return { configuration: bytes, counters, reports };
      });
      if (read !== null) return read;
    }
  } finally {
    progress.clear();
    await connections.close();
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
