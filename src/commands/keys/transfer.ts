import { resolve } from 'node:path';
import type { UpstreamServer } from '../../client/server.js';
import { changedRecord, recordOf, sameFields } from '../../core/keys/key-record.js';
import type { AccessKey, KeySnapshot } from '../../core/model.js';
import { isOn } from '../../settings/flags.js';
import { hasNames } from '../../wire/traits/snapshot.js';
import type { CommandContext } from '../command.js';
import { givenPieces } from '../stored-place.js';
import { keyLine } from './change.js';
import { type KeyRow, keysCsv, readKeysCsv } from './csv.js';
import { allKeys, CHANGING, inTurn, keysCommand, NO_WAIT_HELP } from './keys-command.js';
import { changeKey } from './made-changes.js';

/** So many sentences on what is wrong with a table are shown. */
const MOST_PROBLEMS = 20;

interface Importing {
  readonly file: string;
  readonly dryRun: boolean;
}

/** The change that one line of a table makes. */
interface Step {
  readonly row: KeyRow;
  /** Null for a key that there is none of. */
  readonly before: KeySnapshot | null;
  readonly after: AccessKey;
}

async function importKeys(server: UpstreamServer, { file, dryRun }: Importing, context: CommandContext): Promise<void> {
  const rows = await rowsOf(file, context);
  const present = new Map((await allKeys(server, context)).map((key) => [key.accessKey, key]));
  const steps = rows.flatMap((row) => stepOf(row, present.get(row.accessKey) ?? null) ?? []);
  const added = steps.filter(({ before }) => before === null).length;
  context.progress.clear();
  if (dryRun)
    for (const { before, after } of steps)
      context.output.line(`would ${before === null ? 'add' : 'set'} ${keyLine(after)}`);
  else await inTurn(steps, context, 'importing keys', (step) => take(server, step));
  const words = dryRun ? ['would be added', 'would be set'] : ['added', 'set'];
  context.output.line(
    `${added} ${words[0]}, ${steps.length - added} ${words[1]}, ${rows.length - steps.length} as they are`,
  );
}

async function rowsOf(file: string, { input, folder, fileSystem }: CommandContext): Promise<readonly KeyRow[]> {
  const pieces: Buffer[] = [];
  const source = file === '-' ? input.pieces() : givenPieces(fileSystem, resolve(folder, file));
  for await (const piece of source) pieces.push(piece);
  const { rows, problems } = readKeysCsv(Buffer.concat(pieces).toString('utf8'));
  if (problems.length === 0) return rows;
  const more = problems.length > MOST_PROBLEMS ? [`and ${problems.length - MOST_PROBLEMS} more`] : [];
  throw new Error([`${file}: nothing was changed`, ...problems.slice(0, MOST_PROBLEMS), ...more].join('\n  '));
}

/** Null where the key is as the line says already. A column that the table does not have leaves what there is. */
function stepOf(row: KeyRow, before: KeySnapshot | null): Step | null {
  if (before === null) return { row, before, after: recordOf(row.accessKey, row.given) };
  const after = changedRecord(before, row.given);
  return sameFields(before, after) ? null : { row, before, after };
}

async function take(server: UpstreamServer, { row, before, after }: Step): Promise<void> {
  if (before === null) await server.createUser(after);
  else await changeKey(server, before, row.given);
}

export const keysImport = keysCommand<Importing>({
  name: 'keys import',
  flags: CHANGING,
  help: `Usage: keyway keys import FILE.csv [--dry-run]

Takes keys over from a table, as "keyway keys export" and the panel write it: fields with commas
between them, the first line with the names of its columns: key, name and limit. New keys are added,
others get the name and the limit of their line, and keep their counters; keys without a line stay.
What is wrong is said line by line before anything changes, and an import may be repeated. - reads
standard input.

  --dry-run        Says what would change, and changes nothing.
${NO_WAIT_HELP}`,
  read(reading, flags) {
    const [file = ''] = flags.words;
    if (flags.words.length !== 1 || file === '')
      reading.problems.push('expected keyway keys import FILE.csv, and flags');
    return { file, dryRun: isOn(flags, 'dry-run') };
  },
  work: importKeys,
});

/** Names and keys are nobody else's business. */
const PRIVATE = 0o600;

export const keysExport = keysCommand<{ readonly file: string | null }>({
  name: 'keys export',
  flags: [],
  help: `Usage: keyway keys export [FILE.csv]

Writes all keys as "keyway keys import" reads them: key, name and limit in bytes; without the names
where a server up to 0.2.34 does not tell them, so that an import leaves names as they are. Without a file, or with -,
they go to standard output. A file is readable by you alone and never written over. Control characters are
written as \\u and four digits, which the import reads.`,
  read(reading, flags) {
    if (flags.words.length > 1) reading.problems.push('expected keyway keys export and one file at most');
    const [file = '-'] = flags.words;
    return { file: file === '-' ? null : file };
  },
  async work(server, { file }, context) {
    const keys = await allKeys(server, context);
    const { snapshot } = await server.find();
    const text = keysCsv(keys, { hasNames: hasNames(snapshot) });
    context.progress.clear();
    if (file === null) {
      context.output.line(text);
      return;
    }
    await context.fileSystem.create(resolve(context.folder, file), Buffer.from(`${text}\n`), PRIVATE);
    context.output.line(`Wrote ${keys.length === 1 ? '1 key' : `${keys.length} keys`} to ${file}`);
  },
});
