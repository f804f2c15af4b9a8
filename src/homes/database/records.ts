import { DomainError } from '../../core/errors.js';
import { type KeptRecords, type RecordChange, RecordTable } from '../../core/kept-records.js';
import type { RandomPort } from '../../core/ports.js';
import { readRecord } from './changes.js';
import { openConnections, StatementError } from './connection.js';
import { databaseProblem, readSchema } from './schema.js';
import { LOAD, sentWrite, WRITES } from './statements.js';

/** In milliseconds. */
const DEADLINE = 10_000;

/** Keyway's own records in a database, for a command: without the rest of the state, and as they were when opened. */
export interface OpenDatabaseRecords {
  readonly records: KeptRecords;
  close(): Promise<void>;
}

/** Opens the records. Rejects with an `Error` for the user. */
export async function openDatabaseRecords(url: string, random: Pick<RandomPort, 'uuid'>): Promise<OpenDatabaseRecords> {
  const connections = openConnections({ url, most: 1 });
  const table = new RecordTable();
  try {
    const { problem } = await readSchema(connections);
    if (problem !== null) throw new Error(problem);
    const [rows = []] = await connections.run(LOAD.records, DEADLINE);
    table.take(rows.map(readRecord));
  } catch (error) {
    await connections.close();
    throw new Error(databaseProblem(error), { cause: error });
  }
  const change = async (changes: readonly RecordChange[]): Promise<boolean> => {
    const statement = sentWrite(WRITES.changeRecords(changes)(random.uuid()));
    const answers = await connections.run(statement, DEADLINE).catch((error: unknown) => {
      if (error instanceof StatementError && error.reached === 'unknown') throw new DomainError('outcomeUnknown');
      throw new Error(databaseProblem(error), { cause: error });
    });
    const isMade = answers.at(-1)?.[0]?.[1] === 'done';
    if (isMade) table.take(changes);
    return isMade;
  };
  return {
    records: {
      outliveProcess: true,
      isShared: true,
      of: (kind) => table.of(kind),
      onChange: (kind, listener) => table.onChange(kind, listener),
      change,
    },
    close: connections.close,
  };
}
