import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { expect } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { FILE_LIMITS } from '../../src/core/file-limits.js';
import { isBare } from '../../src/core/keys/key-record.js';
import { readServerText } from '../../src/document/check/server-text.js';
import { startProblem } from '../../src/document/check/start.js';
import { readDocument } from '../../src/document/document.js';
import { writeState } from '../../src/homes/file/counters/lines.js';
import { createGateway } from '../../src/index.js';
import { createMemoryFiles } from '../../src/platform/memory-files.js';
import { unlessMissing } from '../../src/platform/presence.js';
import { isJsonObject, parseJson } from '../../src/wire/json/json.js';
import { type FileServer, takesPlainKeysAlone } from '../../src/wire/traits/server-file.js';
import { ROOT } from '../clone.js';
import { runHere } from '../commands/context.js';
import { flatFile, nestedFile } from '../document/started.js';
import { type CommandLine, FIRST, INPUT, NEWEST, OLDEST, PATH, type Sitting, type Write } from './any-writes.js';
import { readFixture } from './pack.js';

/** The servers of every line, each of its last version. */
const SERVERS: readonly FileServer[] = REVISIONS.map(({ file, reportedVersion: version }) => ({ file, version }));

const starts = (bytes: Buffer, { file }: FileServer) => startProblem(readServerText(bytes), file) === null;

/** The servers that start from a file. */
export const startedBy = (text: string) => SERVERS.filter((server) => starts(Buffer.from(text), server));

/** The files that real servers started from. */
function recordedFiles(): readonly string[] {
  const tables = readdirSync(join(ROOT, 'fixtures/starts')).filter((name) => name.endsWith('.json'));
  const texts = tables.flatMap((name) => {
    const table = parseJson(Buffer.from(readFixture(`starts/${name}`)));
    if (!isJsonObject(table)) throw new Error(`${name}: expected an object`);
    return Object.values(table).flatMap((entry) => (isJsonObject(entry) && entry.starts === true ? entry.text : []));
  });
  return texts.map((text) =>
    String(text)
      .replaceAll(/"@(API|UDP)PORT\d*@"|@(API|UDP)PORT\d*@/g, '40000')
      .replaceAll('@API@', '127.0.0.1:9090')
      .replaceAll('@LISTEN@', '127.0.0.1:50000'),
  );
}

/** The same, from which servers start by the tables of today. */
export const RECORDED = recordedFiles().filter((text) => startedBy(text).length > 0);

/** A file from which servers start, and the version of one of these; null for one of each mount's version. */
export const anyStarted = fc
  .oneof(
    fc.constantFrom(...RECORDED),
    fc.oneof(flatFile, nestedFile).map((file) => JSON.stringify(file, null, 2)),
  )
  .filter((text) => startedBy(text).length > 0)
  .chain((text) =>
    fc.tuple(
      fc.constant(text),
      fc.option(fc.constantFrom(...startedBy(text).map(({ version }) => version)), { freq: 2 }),
    ),
  );

/** The file in memory, with what Keyway keeps beside it. */
async function fileOf(text: string) {
  const fileSystem = createMemoryFiles();
  await fileSystem.makeFolder(dirname(PATH), 0o700);
  await fileSystem.create(PATH, Buffer.from(text), 0o600);
  return { fileSystem, read: () => fileSystem.read(PATH, FILE_LIMITS.configuration) };
}

type StartedFile = Awaited<ReturnType<typeof fileOf>>;

/** A gateway over it, whose callers have the token `t`; a server of `serverVersion` reads the file, null for that of the mount. */
async function serve({ fileSystem }: StartedFile, { revision }: Sitting, serverVersion: string | null) {
  const app = await createGateway({
    mounts: [{ revision }],
    configPath: PATH,
    fileSystem,
    listener: { token: 't', username: '', passwordHash: '' },
    pollMilliseconds: 0,
    countersWriteMilliseconds: 0,
    ...(serverVersion === null ? {} : { serverVersion }),
  });
  const [mount] = app.keyway.mounts;
  if (mount === undefined) throw new Error('a gateway without a mount');
  const server = SERVERS.find(({ version }) => version === serverVersion);
  return { app, mount, server: server ?? { file: mount.revision.file, version: mount.version } };
}

type Served = Awaited<ReturnType<typeof serve>>;

async function make({ app, mount }: Served, { method, path, isOwn, body, type }: Write, file: Buffer) {
  const keys = readDocument(file).configuration.keys.map(({ accessKey }) => accessKey);
  const keyAt = (place: string) => keys[Number(place.slice(1))] ?? 'none';
  return app.inject({
    method,
    url: `${isOwn ? mount.base : mount.api}${path.replaceAll(/@\d/g, (place) => encodeURIComponent(keyAt(place)))}`,
    headers: { authorization: 'Bearer t', ...(body !== undefined && { 'content-type': type }) },
    ...(body !== undefined && {
      payload: body.replaceAll(/@\d/g, (place) => JSON.stringify(keyAt(place)).slice(1, -1)),
    }),
  });
}

/** Tells whether the keys alone may keep a server from starting: there is none, or one with more than it takes. */
function isByKeys(bytes: Buffer, { file }: FileServer): boolean {
  const { keys } = readDocument(bytes).configuration;
  return keys.length === 0 || (takesPlainKeysAlone(file) && !keys.every(isBare));
}

/** The server that does not start any more through a write of Keyway's; null for none. */
interface Ended {
  file: FileServer['file'] | null;
}

/** Makes a write, and expects that the server starts afterwards where it did before, or may not do so and the health says it. */
async function expectStartAfter(served: Served, { read }: StartedFile, ended: Ended, write: Write): Promise<void> {
  const { app, server } = served;
  const before = await read();
  const { statusCode, payload } = await make(served, write, before);
  const after = await read();
  const problem = startProblem(readServerText(after), server.file);
  const told = `a server of ${server.version}: ${problem}, after ${JSON.stringify(write)} was answered ${statusCode} ${payload}: ${after}`;
  if (problem === null) ended.file = null;
  else if (starts(before, server)) {
    ended.file = server.file;
    const mayEnd = write.mayEnd === 'always' || (write.mayEnd === 'by its keys' && isByKeys(after, server));
    expect(mayEnd, told).toBe(true);
  }
  const problems = (await app.keyway.backend.problems()).filter((one) => one.problem === 'config_unreadable_by_server');
  expect(problems, told).toHaveLength(ended.file === null ? 0 : 1);
}

/** The text of the file that a command is given; null for none. */
async function inputOf({ backup, table }: CommandLine): Promise<Buffer | null> {
  if (backup === undefined) return table === undefined ? null : Buffer.from(table);
  const configuration = Buffer.from(backup);
  return buffer(writeState({ configuration, counters: [], reports: [], sources: null, notes: new Map() }, 0));
}

/** Runs a command over the file, and expects that a server of some line, or the one that it is told of, starts afterwards where one did before. */
async function expectStartAfterCommand(
  { fileSystem, read }: StartedFile,
  command: CommandLine,
  serverVersion: string | null,
): Promise<void> {
  const before = await read();
  const names = await fileSystem.list(`${PATH}.keyway/versions`);
  const ids = names.map((name) => name.replace(/(-forever)?\.gz$/, '')).toSorted();
  const [first] = readDocument(before).configuration.keys;
  const places = { [NEWEST]: ids.at(-1), [OLDEST]: ids.at(0), [FIRST]: first?.accessKey };
  const words = command.words.map((word) => (word in places ? (places[word] ?? 'none') : word));
  const told = words[0] === 'keys' ? serverVersion : null;
  const argv = told === null ? words : [...words, '--server-version', told];
  const input = await inputOf(command);
  if (input !== null) {
    await unlessMissing(fileSystem.remove(INPUT));
    await fileSystem.create(INPUT, input, 0o600);
  }

  const ran = await runHere(argv, { fileSystem, folder: dirname(PATH), piped: 'password' });
  const after = await read();
  const startedIn = (bytes: Buffer) =>
    startedBy(bytes.toString()).filter(({ version }) => told === null || version === told);
  const became = `${argv.join(' ')}: ${ran.complaints}${ran.output}${after}`;
  // A conversion that is forced says what stays in the way of servers.
  const isForced = ran.output.replaceAll('\n', ' ').includes('servers of the target do not start');
  if (startedIn(before).length > 0 && !isForced) expect(startedIn(after), became).not.toEqual([]);
}

/**
 * Makes the writes of each sitting over the file, in memory, and its command, and expects after each: a server that started from the
 * file does so afterwards, or the protocol's answer left it so, and the health says it until it starts again, over restarts, too.
 */
export async function expectStarts(text: string, server: string | null, sittings: readonly Sitting[]) {
  const file = await fileOf(text);
  const ended: Ended = { file: null };
  for (const sitting of sittings) {
    const served = await serve(file, sitting, server);
    if (starts(await file.read(), served.server) || ended.file !== served.server.file) ended.file = null;
    try {
      for (const write of sitting.writes) await expectStartAfter(served, file, ended, write);
    } finally {
      await served.app.close();
    }
    if (sitting.command !== null) await expectStartAfterCommand(file, sitting.command, server);
  }
}
