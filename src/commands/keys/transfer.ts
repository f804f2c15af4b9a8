import { isUtf8 } from 'node:buffer';
import { resolve } from 'node:path';
import type { UpstreamServer } from '../../client/server.js';
import { unsavedBy } from '../../core/errors.js';
import { changedRecord, recordOf, sameFields } from '../../core/keys/key-record.js';
import type { AccessKey, KeySnapshot } from '../../core/model.js';
import { sameState, stateOf } from '../../homes/upstream/key-state.js';
import { inKey } from '../../homes/upstream/struck-configuration.js';
import { isOn, switchFlag, valueFlag } from '../../settings/flags.js';
import { hasNames, tellsField } from '../../wire/traits/snapshot.js';
import type { CommandContext } from '../command.js';
import { refusePresent, writeNew } from '../new-file.js';
import { givenPieces } from '../stored-place.js';
import { keyLine, newKey } from './change.js';
import { type KeyRow, keysCsv, readKeysCsv } from './csv.js';
import type { KeyPlace } from './home.js';
import { allKeys, CHANGING, inTurn, keysCommand, NO_WAIT_HELP } from './keys-command.js';
import { complainOfHost, linkOf } from './link.js';
import { columnsAt, jsonText, listed, STATUSES } from './listed.js';
import { changeKey } from './made-changes.js';
import { notesAt } from './notes.js';

/** The most problems that are shown, of a table or of its import. */
const MOST_PROBLEMS = 20;

interface Importing {
  readonly file: string;
  /** The file for the keys that are made; null for standard output. */
  readonly out: string | null;
  readonly dryRun: boolean;
}

/** The change that one line of a table makes. */
interface Step {
  readonly row: KeyRow;
  /** Null for a key that does not exist. */
  readonly before: KeySnapshot | null;
  readonly after: AccessKey;
  /** True for a key that is made here, because the line has none. */
  readonly isMade: boolean;
}

async function importKeys(
  server: UpstreamServer,
  asked: Importing,
  context: CommandContext,
  place: KeyPlace,
): Promise<void> {
  const { file, dryRun, out } = asked;
  const table = await rowsOf(file, context);
  const rows = place.own === null ? table.map((row) => ({ ...row, note: undefined })) : table;
  const notes = await notesAt(place);
  const steps = stepsOf(file, rows, { keys: await allKeys(server, context), notes }, context);
  if (place.own === null && table.some(({ note }) => note != null))
    context.complain('Notes are left out: a Keyway alone keeps them');
  const made: AccessKey[] = [];
  const lost = new Set<Step>();
  context.progress.clear();
  if (dryRun)
    for (const { before, after, isMade } of steps)
      context.output.line(
        `would ${before === null ? 'add' : 'set'} ${keyLine(isMade ? { ...after, accessKey: 'a new key' } : after)}`,
      );
  else
    try {
      if (out !== null && steps.some(({ isMade }) => isMade))
        await refusePresent(context.fileSystem, resolve(context.folder, out));
      if (steps.length > 0) await place.keepVersion();
      const words = { doing: 'importing keys', done: 'Imported', keyOf: ({ after }: Step) => after.accessKey };
      const noteMade = ({ isMade, after }: Step) => isMade && made.push(after);
      await inTurn(steps, context, { ...words, made: noteMade }, (step) => take(server, step, place));
      for (const step of await lostOf(server, steps, context)) lost.add(step);
    } finally {
      // Nobody else knows them, whatever ended the import.
      const gone = new Set([...lost].map(({ after }) => after));
      const there = made.filter((key) => !gone.has(key));
      if (there.length > 0) await writeMade(server, there, out, context);
    }
  const there = steps.filter((step) => !lost.has(step));
  const added = there.filter(({ before }) => before === null).length;
  const words = dryRun ? ['would be added', 'would be set'] : ['added', 'set'];
  const summary = `${added} ${words[0]}, ${there.length - added} ${words[1]}, ${rows.length - steps.length} as they are`;
  // Standard output is the table's then.
  if (made.length > 0 && out === null) context.complain(summary);
  else context.output.line(summary);
  if (lost.size === 0) return;
  const { storing } = await server.find();
  if (storing.undoneBecause === null) throw new Error(lostWords([...lost]));
  // A caller that waits sees them made again.
  context.complain(lostWords([...lost]));
}

/** The changes that a list does not show afterwards: servers lose some of what they have acknowledged. */
async function lostOf(
  server: UpstreamServer,
  steps: readonly Step[],
  context: CommandContext,
): Promise<readonly Step[]> {
  if (steps.length === 0) return [];
  const { snapshot } = await server.find();
  const present = new Map((await allKeys(server, context)).map((key) => [key.accessKey, key]));
  context.progress.clear();
  // What a list shows has no credential in it.
  const shown = (key: AccessKey) => inKey(key, server.texts.struck);
  // Of two lines for one key the last one counts.
  const last = new Map(steps.map((step) => [step.after.accessKey, step]));
  return [...last.values()].filter(
    ({ after }) =>
      !sameState(shown(after), stateOf(present.get(after.accessKey)), (name) => tellsField(snapshot, name)),
  );
}

function lostWords(lost: readonly Step[]): string {
  const lines = lost.map(({ before, after }) => `${before === null ? 'not added' : 'not set'}: ${keyLine(after)}`);
  return shortened(`the server has acknowledged and lost ${lost.length}: import the table again`, lines);
}

/** Some lines below their heading. */
function shortened(heading: string, lines: readonly string[]): string {
  const more = lines.length > MOST_PROBLEMS ? [`and ${lines.length - MOST_PROBLEMS} more`] : [];
  return [heading, ...lines.slice(0, MOST_PROBLEMS), ...more].join('\n  ');
}

/** Writes the keys that an import has made as a table with their links. */
async function writeMade(
  server: UpstreamServer,
  made: readonly AccessKey[],
  out: string | null,
  context: CommandContext,
): Promise<void> {
  const linked: (AccessKey & { readonly link: string })[] = [];
  for (const key of made) linked.push({ ...key, link: await linkOf(server, key.accessKey) });
  const [first] = linked;
  if (first !== undefined) complainOfHost(first.link, context);
  const text = keysCsv(linked, { hasNames: true, more: [{ name: 'link', of: ({ link }) => link }] });
  if (out === null) return context.output.line(text);
  try {
    await writeNew(context.fileSystem, resolve(context.folder, out), [Buffer.from(`${text}\n`)]);
  } catch (error) {
    // Repeated, the import would make none of them.
    context.output.line(text);
    throw error;
  }
  context.output.line(
    `Wrote ${made.length === 1 ? 'the new key' : `the ${made.length} new keys`} with links to ${out}`,
  );
}

async function rowsOf(file: string, { input, folder, fileSystem }: CommandContext): Promise<readonly KeyRow[]> {
  const pieces: Buffer[] = [];
  const source = file === '-' ? input.pieces() : givenPieces(fileSystem, resolve(folder, file));
  for await (const piece of source) pieces.push(piece);
  const { rows, problems } = readKeysCsv(textOf(file, Buffer.concat(pieces)));
  refuse(file, problems);
  return rows;
}

/** Returns the text of a table in UTF-8, or in UTF-16 with its mark, as spreadsheets write it. Throws, with the line, for another encoding. */
function textOf(file: string, bytes: Buffer): string {
  const mark = bytes.toString('hex', 0, 2);
  if (mark === 'fffe' || mark === 'feff')
    return new TextDecoder(mark === 'fffe' ? 'utf-16le' : 'utf-16be').decode(bytes);
  const text = bytes.toString('utf8');
  if (isUtf8(bytes)) return text;
  const line = text.slice(0, text.indexOf('\ufffd')).split(/\r?\n|\r/).length;
  throw new Error(
    `${file}: line ${line} is not UTF-8 (perhaps Windows-1251): save the table as UTF-8; nothing was changed`,
  );
}

function refuse(file: string, problems: readonly string[]): void {
  if (problems.length > 0) throw new Error(shortened(`${file}: nothing was changed`, problems));
}

/**
 * The changes that lines make; none where a key is as its line says already. A column that the table does not have leaves what there is, and a
 * line without a key is for the key that has its name alone, else for a new one.
 */
function stepsOf(
  file: string,
  rows: readonly KeyRow[],
  { keys: present, notes }: { readonly keys: readonly KeySnapshot[]; readonly notes: ReadonlyMap<string, string> },
  { random }: CommandContext,
): readonly Step[] {
  const byKey = new Map(present.map((key) => [key.accessKey, key]));
  const byName = new Map<string, KeySnapshot[]>();
  for (const key of present) {
    if (key.name === null) continue;
    const those = byName.get(key.name);
    if (those === undefined) byName.set(key.name, [key]);
    else those.push(key);
  }
  const problems: string[] = [];
  const steps = rows.flatMap((row): readonly Step[] => {
    const { accessKey, given, line, note } = row;
    const named = accessKey === null ? (byName.get(given.name ?? '') ?? []) : [];
    if (named.length > 1) problems.push(`line ${line}: ${named.length} keys have this name: give the key`);
    const before = accessKey === null ? (named[0] ?? null) : (byKey.get(accessKey) ?? null);
    if (before === null) {
      const after = recordOf(accessKey ?? newKey(random), given);
      return [{ row, before, after, isMade: accessKey === null }];
    }
    const after = changedRecord(before, given);
    const isNoted = note === undefined || note === (notes.get(before.accessKey) ?? null);
    return isNoted && sameFields(before, after) ? [] : [{ row, before, after, isMade: false }];
  });
  refuse(file, problems);
  return steps;
}

async function take(server: UpstreamServer, { row, before, after }: Step, { own }: KeyPlace): Promise<void> {
  const { given, note } = row;
  const change = async (): Promise<void> => {
    if (before === null) await server.createUser(after);
    else if (!sameFields(before, after)) await changeKey(server, before, given);
  };
  // Its note is kept apart from the file, and is not asked for again.
  const unsaved = await unsavedBy(change());
  if (own !== null && note !== undefined && !(before === null && note === null))
    await own('PATCH', `/keys/${encodeURIComponent(after.accessKey)}`, { note });
  if (unsaved !== null) throw unsaved;
}

export const keysImport = keysCommand<Importing>({
  name: 'keys import',
  flags: [valueFlag('out', 'FILE', 'paths'), ...CHANGING],
  help: `Usage: keyway keys import FILE.csv [--out FILE] [--dry-run]

Takes keys over from a table, as "keyway keys export" and the panel write it: fields with commas,
semicolons or tabs between them, the first line with the names of its columns: key, name, limit and
note; name alone is enough. New keys are added, others get what their line has, and keep their counters; keys without a line stay. A line without a key is for the key that has its name, else
a new one is made; those are written out with their links. What is wrong is said line by line before
anything changes, and an import may be repeated. Afterwards a list is read: changes that it does not
show are named, and the exit code is 1. - reads standard input.

  --out FILE       The file for the keys that are made. Default: standard output.
  --dry-run        Says what would change, and changes nothing.
${NO_WAIT_HELP}`,
  read(reading, flags) {
    const [file = ''] = flags.words;
    if (flags.words.length !== 1 || file === '')
      reading.problems.push('expected keyway keys import FILE.csv, and flags');
    return { file, out: reading.value('out'), dryRun: isOn(flags, 'dry-run') };
  },
  work: importKeys,
});

export const keysExport = keysCommand<{ readonly file: string | null; readonly json: boolean }>({
  name: 'keys export',
  flags: [switchFlag('json')],
  help: `Usage: keyway keys export [FILE] [--json]

Writes all keys as a table that "keyway keys import" reads: key, name, limit in bytes, note, what was
used of it up and down, and the status (${STATUSES.join(', ')}); without the names where a
server up to 0.2.34 does not tell them, so that an import leaves names as they are. An import passes
usage and status over. Without a file, or with -, they go to standard output. A file is readable by
you alone and never written over. Control characters are written as \\u and four digits, which the
import reads.

  --json           As a JSON array instead, numbers exact.`,
  read(reading, flags) {
    if (flags.words.length > 1) reading.problems.push('expected keyway keys export and one file at most');
    const [file = '-'] = flags.words;
    return { file: file === '-' ? null : file, json: isOn(flags, 'json') };
  },
  async work(server, { file, json }, context, place) {
    const present = await allKeys(server, context);
    const line = await server.find();
    const notes = await notesAt(place);
    const keys = present.map((key) => listed(key, line, notes));
    const text = json ? jsonText(keys) : keysCsv(keys, { hasNames: hasNames(line.snapshot), more: columnsAt(place) });
    context.progress.clear();
    if (file === null) {
      context.output.line(text);
      return;
    }
    await writeNew(context.fileSystem, resolve(context.folder, file), [Buffer.from(`${text}\n`)]);
    context.output.line(`Wrote ${keys.length === 1 ? '1 key' : `${keys.length} keys`} to ${file}`);
  },
});
