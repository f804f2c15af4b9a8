import type { KeptCounters } from '../core/keys/types.js';
import type { ClockPort, ProgressPort, RandomPort } from '../core/ports.js';
import { readDocument } from '../local/document/document.js';
import type { DatabaseBackend } from './backend.js';
import { openConnections, type Row } from './connection.js';
import { type DatabaseDocument, storeContent, versionId } from './document.js';
import { configurationProblem } from './limits.js';
import { storedSettings } from './server-settings.js';
import {
  BEGIN_IMPORT,
  EXPORT,
  FORGET_COUNTED,
  IMPORT_STATE,
  putCounters,
  rememberReports,
  seeGateway,
  WRITES,
} from './statements.js';

/** What an embedded Keyway keeps, whole. */
export interface TransferredState {
  /** The configuration, byte for byte. */
  readonly configuration: Buffer;
  readonly counters: readonly KeptCounters[];
  /** Ids of remembered reports, oldest first. */
  readonly reports: readonly string[];
}

export interface ImportOptions {
  /** Of a database whose schema is there. */
  readonly url: string;
  /** Whether keys that are there already are replaced; otherwise they are an error. */
  readonly replaces: boolean;
  /** The configuration that is there, of which a version is kept. */
  readonly document: Pick<DatabaseDocument, 'at'>;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly progress: ProgressPort;
}

const DEADLINE = 600_000;
const AT_ONCE = 10_000;
/** Looks for a moment at which nobody writes. */
const ATTEMPTS = 20;

/** Puts a state into a database: all of it or, with an `Error` for people, nothing. */
export async function importState(state: TransferredState, options: ImportOptions): Promise<void> {
  const { url, replaces, random, clock, progress } = options;
  const { document, configuration } = readDocument(state.configuration);
  if (configuration.mode !== 'server') throw new Error('its mode is not "server": there is nothing to serve from it');
  const problem = configurationProblem(configuration);
  if (problem !== null) throw new Error(`PostgreSQL cannot hold it: ${problem}`);
  const connections = openConnections({ url, most: 2 });
  try {
    const store = (bytes: Buffer) => storeContent(bytes, { connections, random, deadline: DEADLINE });
    progress.show('writing the configuration');
    const content = await store(document.bytes);
    for (let attempt = 1; ; attempt += 1) {
      const before = await options.document.at();
      const version = { id: versionId(before.bytes, clock.now()), content: await store(before.bytes) };
      const isDone = await connections.session(async (run) => {
        const one = async (text: string): Promise<readonly Row[]> => (await run(text, DEADLINE))[0] ?? [];
        await one(BEGIN_IMPORT);
        const [[number = null, keys] = []] = await one(IMPORT_STATE);
        if (!replaces && keys !== '0')
          throw new Error(`the database holds ${keys} keys already: --replace replaces what it holds`);
        if (BigInt(number ?? 0) !== before.number && attempt < ATTEMPTS) {
          await one('rollback');
          return false;
        }
        if (replaces) await one(FORGET_COUNTED);
        const put = WRITES.putDocument({
          expected: BigInt(number ?? 0),
          content,
          settings: storedSettings(configuration),
          keys: configuration.keys,
          version: { ...version, forever: keys !== '0' },
        });
        const [[taken = null] = []] = await one(put(random.uuid()));
        const gateway = random.uuid();
        for (let from = 0; from < state.counters.length; from += AT_ONCE) {
          progress.show('writing counters', from / state.counters.length);
          const some = state.counters.slice(from, from + AT_ONCE);
          await one(putCounters(BigInt(taken ?? 0), gateway, some));
        }
        await one(seeGateway(gateway));
        await one(rememberReports(state.reports));
        await one('commit');
        return true;
      });
      if (isDone) return;
    }
  } finally {
    progress.clear();
    await connections.close();
  }
}

export interface ExportOptions {
  readonly url: string;
  readonly clock: ClockPort;
  readonly progress: ProgressPort;
}

/** What the database holds at one moment. Rejects with an `Error` for people. */
export async function exportState(
  backend: Pick<DatabaseBackend, 'document'>,
  { url, progress }: ExportOptions,
): Promise<TransferredState> {
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
