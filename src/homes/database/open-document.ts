import { KeyRegistry } from '../../core/keys/registry.js';
import type { ClockPort, LogPort, RandomPort } from '../../core/ports.js';
import { inTurns } from '../../core/steps.js';
import { type ReadConfiguration, readDocumentSteps } from '../../document/document.js';
import { type Connections, openConnections } from './connection.js';
import { DatabaseDocument } from './document.js';
import type { ChangeRefused } from './document-changes.js';
import type { PresentDocument } from './kept-document.js';
import { databaseProblem, readSchema } from './schema.js';
import { SNAPSHOT } from './statements.js';
import { readStoredDocument, type StoredDocument } from './stored-document.js';
import { inSnapshot } from './transfer.js';
import { createWrites } from './writes.js';

interface DocumentPlace {
  /** `postgres://…` */
  readonly url: string;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly log: LogPort;
}

/** The configuration in a database with its kept versions, open during a command. */
export interface OpenDocument {
  readonly document: DatabaseDocument;
  close(): Promise<void>;
}

const NEVER = new AbortController().signal;

/** Reads the configuration as it is now, without memory of an earlier reading. Rejects as `readStoredDocument` does. */
export async function readPresent(
  connections: Connections,
  refused: ChangeRefused,
): Promise<PresentDocument & Pick<StoredDocument, 'seen'> & Pick<ReadConfiguration, 'configuration'>> {
  const { seen, bytes } = await inSnapshot(connections, NEVER, async (ask) => {
    const read = await readStoredDocument(ask, refused);
    await ask(SNAPSHOT.commit);
    return read;
  });
  const { document, configuration } = await inTurns(readDocumentSteps(bytes));
  return { number: seen.state, seen, document, configuration, compact: async () => [document.bytes] };
}

/**
 * Opens only the configuration: it reads no counters, and only those keys that have changed since it was put. Rejects
 * with an `Error` for the user.
 */
export async function openDatabaseDocument({ url, clock, random, log }: DocumentPlace): Promise<OpenDocument> {
  const connections = openConnections({ url, most: 2 });
  const asking = openConnections({ url, most: 1 });
  const close = async () => {
    await Promise.all([connections.close(), asking.close()]);
  };
  try {
    const { problem } = await readSchema(connections);
    if (problem !== null) throw new Error(problem);
  } catch (error) {
    await close();
    throw new Error(databaseProblem(error), { cause: error });
  }
  /** The keys of the configuration that was read last. */
  const keys = new KeyRegistry(clock.now);
  let seen = { state: 0n, counters: 0n };
  const refused = (reason: string) => log.warn({ reason }, 'the configuration has no place for a change');
  const current = async (): Promise<PresentDocument> => {
    const present = await readPresent(connections, refused);
    seen = present.seen;
    keys.replaceAll(present.configuration.keys);
    return present;
  };
  return {
    document: new DatabaseDocument({
      connections,
      writes: createWrites({ connections, asking, seen: () => seen, clock, random, log }),
      keys,
      kept: { current },
      showing: async () => undefined,
      ...{ clock, random, log },
    }),
    close,
  };
}
