import { setImmediate } from 'node:timers/promises';
import { sameFields } from '../../core/keys/key-record.js';
import type { AccessKey } from '../../core/model.js';
import { inTurns } from '../../core/steps.js';
import { type ConfigurationDocument, readDocumentSteps } from '../../document/document.js';
import { readHeads } from './changes.js';
import type { Row } from './connection.js';
import { type ChangeRefused, changedDocument, KeyChanges, sectionChanges } from './document-changes.js';
import { unpack } from './kept-document.js';
import { recordIn } from './key-columns.js';
import { readDnsChange, readSettings, type StoredSettings } from './server-settings.js';
import { DOCUMENT, HEADS, SERVER_SETTINGS, type Seen, SNAPSHOT } from './statements.js';

/** Sends one statement and resolves to its rows. */
export type Ask = (text: string) => Promise<readonly Row[]>;

/** The configuration in one snapshot. */
export interface StoredDocument {
  /** The numbers of the last writes in it. */
  readonly seen: Pick<Seen, 'state' | 'counters'>;
  readonly bytes: Buffer;
}

/** Keys asked for at once: few enough that no planner reads all keys for them, or thinks of compiling. */
const AT_ONCE = 5_000;

/**
 * Reads the configuration, byte for byte what a gateway shows as its document, within a transaction that
 * `SNAPSHOT.begin` has begun. Only keys that have changed since the document was put need memory. Rejects with
 * `StatementError`, also over a database that this Keyway may not use, and as `readDocument` throws.
 */
export async function readStoredDocument(ask: Ask, refused: ChangeRefused): Promise<StoredDocument> {
  const { seen } = readHeads(await ask(HEADS));
  const { bytes, number, isApplied } = await readPut(ask);
  if (!isApplied || number === seen.state) return { seen, bytes };
  const { document, rules, changes, records } = await readChanged(ask, bytes, number);
  let changed: ConfigurationDocument = document;
  while (changes.size > 0) {
    changed = changes.makeSome(changed, (accessKey) => records.get(accessKey) ?? null, refused);
    await setImmediate();
  }
  const [[settings = null] = []] = await ask(SERVER_SETTINGS);
  const stored = JSON.parse(settings ?? '{}') as StoredSettings;
  const dnsChanges = [stored.dnsFirst ?? {}, stored.dnsChange ?? {}].map(readDnsChange);
  for (const change of sectionChanges(rules, { outbound: readSettings(stored).outbound, dnsChanges }))
    changed = changedDocument(changed, change, refused);
  return { seen, bytes: changed.bytes };
}

async function readPut(ask: Ask) {
  const [[number = null, applied = null, content = null] = []] = await ask(DOCUMENT);
  const bytes = await unpack(Buffer.from(content ?? '', 'hex'));
  return { number: BigInt(number ?? 0), isApplied: applied === 't', bytes };
}

/** Returns the document with the changes of its keys since write `number`, which put it. */
async function readChanged(ask: Ask, bytes: Buffer, number: bigint) {
  const { document, configuration } = await inTurns(readDocumentSteps(bytes));
  const changes = new KeyChanges();
  const records = new Map<string, AccessKey>();
  for (let from = 0; from < configuration.keys.length; from += AT_ONCE) {
    const listed = configuration.keys.slice(from, from + AT_ONCE);
    const names = listed.map(({ accessKey }) => accessKey);
    for (const row of await ask(SNAPSHOT.changed(names, number))) {
      const [place, isThere] = row;
      const before = listed[Number(place) - 1];
      if (before === undefined) continue;
      const { accessKey } = before;
      if (isThere !== 't') {
        changes.place(accessKey);
        continue;
      }
      const record = recordIn(accessKey, row, 2);
      if (!sameFields(before, record)) changes.record(accessKey);
      records.set(accessKey, record);
    }
  }
  await ask(SNAPSHOT.declareRegistered(number));
  for (;;) {
    const rows = await ask(SNAPSHOT.fetchRegistered);
    if (rows.length === 0) break;
    for (const row of rows) {
      const [accessKey] = row;
      if (accessKey == null) continue;
      changes.place(accessKey);
      records.set(accessKey, recordIn(accessKey, row, 1));
    }
  }
  return { document, rules: configuration.outbound?.rules ?? [], changes, records };
}
