import { join, resolve } from 'node:path';
import { FILE_LIMITS } from '../../core/file-limits.js';
import { readHar } from '../../lab/record/har.js';
import { type RecordingProxy, startProxy } from '../../lab/record/proxy.js';
import { RecordingFiles } from '../../lab/record/recording-files.js';
import { RootedRecorder } from '../../lab/record/rooted-recorder.js';
import { failureWords } from '../../platform/failure-words.js';
import { type FlagReading, type ParsedFlags, switchFlag, valueFlag } from '../../settings/flags.js';
import { type CommandContext, type ExitCode, wordsOf } from '../command.js';
import { defineCommand, NO_HOME } from '../define-command.js';
import { addressOf, baseUrlOf, CA_FLAG, revisionOf, trustedBy } from './settings.js';

/** Milliseconds between two writes of the files. */
const FLUSH_EVERY = 2000;
const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;

const FLAGS = [
  valueFlag('target', 'URL'),
  valueFlag('revision', 'R', 'revisions'),
  valueFlag('out', 'DIR', 'paths'),
  valueFlag('listen', 'ADDR'),
  valueFlag('from-har', 'FILE', 'paths'),
  CA_FLAG,
  switchFlag('keep-values'),
];

type RecordSettings = NonNullable<ReturnType<typeof readSettings>>;

function readSettings(reading: FlagReading, { words }: ParsedFlags, { folder }: CommandContext) {
  const target = baseUrlOf(reading, 'target');
  const revision = revisionOf(reading, 'revision');
  const [out, har, ca] = [reading.value('out'), reading.value('from-har'), reading.value('ca')];
  const listen = addressOf(reading, 'listen');
  if (reading.value('target') === null) reading.problems.push('--target: expected the base URL of the server');
  if (reading.value('revision') === null) reading.problems.push('--revision: expected what the server speaks');
  if (out === null) reading.problems.push('--out: expected the folder for the scenarios');
  for (const flag of har === null ? [] : ['listen', 'ca'])
    if (reading.value(flag) !== null) reading.problems.push(`--${flag}: expected no --from-har with it`);
  if (words.length > 0) reading.problems.push('expected flags only');
  if (target === null || revision === null || out === null) return null;
  const fromHar = har === null ? null : resolve(folder, har);
  const revisionText = reading.value('revision') ?? '';
  const keepValues = reading.isOn('keep-values');
  return { target, revision, revisionText, out: resolve(folder, out), listen, fromHar, ca, keepValues };
}

function work(settings: RecordSettings, context: CommandContext): Promise<ExitCode> {
  const recorder = new RootedRecorder({
    webpath: settings.target.webpath,
    revision: settings.revisionText,
    traits: settings.revision,
    date: new Date(context.clock.now()).toISOString().slice(0, 10),
    keepValues: settings.keepValues,
  });
  const files = new RecordingFiles(settings.out, recorder, context.fileSystem);
  const recording = { recorder, files, context };
  return settings.fromHar === null
    ? recordUntilStopped(settings, recording)
    : convertHar(settings.fromHar, settings, recording);
}

async function prepareFolder(out: string, { fileSystem, random }: CommandContext): Promise<void> {
  try {
    await fileSystem.makeFolder(out, PRIVATE_FOLDER);
    // Some folders let root pass every check and take no file all the same.
    const trial = join(out, `.keyway-${random.uuid()}`);
    await fileSystem.create(trial, Buffer.alloc(0), PRIVATE_FILE);
    await fileSystem.remove(trial);
  } catch (error) {
    throw new Error(`--out ${out} cannot be written: ${wordsOf(error)}`, { cause: error });
  }
}

interface Recording {
  readonly recorder: RootedRecorder;
  readonly files: RecordingFiles;
  readonly context: CommandContext;
}

async function recordUntilStopped(settings: RecordSettings, recording: Recording): Promise<ExitCode> {
  const { target, listen, out } = settings;
  const { recorder, files, context } = recording;
  const stopped = context.untilStopped();
  const trusted = await trustedBy(settings.ca, context);
  let failures = 0;
  let isRootTold = false;
  const proxy = await listening(() =>
    startProxy({
      origin: target.origin,
      ...trusted,
      listen,
      onExchange: (exchange) => {
        // After the answer has gone out: what is written never holds a client up.
        setImmediate(() => {
          for (const session of recorder.add(exchange)) files.changed(session);
          if (!isRootTold && recorder.apiRoot !== null) tellRoot(recorder.apiRoot, context);
          isRootTold = recorder.apiRoot !== null;
        });
      },
      onFailure: (reason) => {
        failures += 1;
        context.complain(`keyway record: ${reason}`);
      },
    }),
  );
  await prepareFolder(out, context).catch(async (error: unknown) => {
    await proxy.close();
    throw error;
  });
  const timer = setInterval(() => {
    files.flush().catch((error: unknown) => context.complain(`keyway record: ${wordsOf(error)}`));
  }, FLUSH_EVERY);
  const path = target.webpath === '/' ? '' : target.webpath;
  context.output.line(`Recording ${target.origin}: use ${proxy.url}${path} instead; Ctrl-C ends it`);
  await stopped;
  clearInterval(timer);
  await proxy.close();
  await new Promise(setImmediate);
  for (const session of recorder.settle()) files.changed(session);
  if (!isRootTold && recorder.apiRoot !== null) tellRoot(recorder.apiRoot, context);
  await files.flush();
  const isUseful = report(settings, recording);
  return failures > 0 || !isUseful ? 1 : 0;
}

function tellRoot(apiRoot: string, { output }: CommandContext): void {
  output.line(`The API is at ${apiRoot}`);
}

async function listening(start: () => Promise<RecordingProxy>): Promise<RecordingProxy> {
  try {
    return await start();
  } catch (error) {
    throw new Error(`--listen: ${wordsOf(error)}`, { cause: error });
  }
}

async function convertHar(path: string, settings: RecordSettings, recording: Recording): Promise<ExitCode> {
  const { target, out } = settings;
  const { recorder, files, context } = recording;
  const content = await context.fileSystem.read(path, FILE_LIMITS.archive).catch((error: unknown) => {
    throw new Error(`${path} cannot be read: ${failureWords(error)}`, { cause: error });
  });
  const exchanges = readHar(content.toString('utf8'), path, target.origin);
  if (exchanges.length === 0) throw new Error(`${path} holds no exchange with ${target.origin}`);
  const sessions = [...exchanges.flatMap((each) => recorder.add(each)), ...recorder.settle()];
  if (recorder.apiRoot !== null) {
    tellRoot(recorder.apiRoot, context);
    await prepareFolder(out, context);
    for (const session of sessions) files.changed(session);
    await files.flush();
  }
  return report(settings, recording) ? 0 : 1;
}

/** Says what was recorded; false where none of it is of the API, so that nothing could be played. */
function report({ target, revision, revisionText }: RecordSettings, { recorder, files, context }: Recording): boolean {
  const { apiRoot, otherRoots } = recorder;
  for (const each of otherRoots)
    context.complain(`keyway record: an API answered at ${each}, too: name it in --target to record that one`);
  if (apiRoot === null) {
    const { api } = revision.root.paths(target.webpath);
    context.complain(
      `keyway record: nothing of the API was recorded: no exchange shows one, at ${api} or elsewhere; is ${revisionText} what the server speaks?`,
    );
    return false;
  }
  const { exchanges, sessions, panelFiles } = recorder.counts;
  const leftOut = panelFiles === 0 ? '' : `; ${counted(panelFiles, 'file')} of the panel itself left out`;
  context.output.line(`${counted(exchanges, 'exchange')} in ${counted(sessions, 'session')}${leftOut}`);
  for (const path of files.paths.values()) context.output.line(`Wrote ${path}`);
  return true;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

export const record = defineCommand<RecordSettings, null>({
  name: 'record',
  flags: FLAGS,
  ask: (reading, flags, { context }) => readSettings(reading, flags, context),
  home: NO_HOME,
  work: (_home, settings, context) => work(settings, context),
  failureCode: 2,
  help: () => `Usage: keyway record --target URL --revision R --out DIR [--listen ADDR]
       keyway record --from-har FILE --target URL --revision R --out DIR

Stands between clients and a server and writes what passes as scenarios for "keyway replay" and
"keyway compare", one file per client session, until SIGTERM or SIGINT. Status, headers and bytes
pass as they come. Files that stand in the folder are never overwritten.

The files that make up a panel are left out: they are no part of the API.

Nothing secret is written: credentials, tokens, passwords and hashes become <secret:n>, keys and
names <key:n> and <name:n>, other texts of a configuration <text:n>; the same value is the same
placeholder in all files of a recording. Of a client's program its first word stays, such as curl/8.5.0.

  --target URL     The server's base URL. Where its web path is left out, it is found in what passes.
  --revision R     What the server speaks: earliest, dns, current, or a version such as 0.2.48.
  --out DIR        Where the files go; made when it is missing.
  --listen ADDR    Where clients connect to instead, host:port. Default: 127.0.0.1, a free port.
  --ca FILE        Certificates in PEM that are trusted of the target instead of the system's.
  --keep-values    Keeps keys, names and texts readable. Secrets never are.
  --from-har FILE  Takes the exchanges with the target out of a HAR file that a browser saved.

  keyway record --target http://127.0.0.1:9090 --revision 0.2.48 --out recordings --listen 127.0.0.1:9191
  keyway replay recordings --revision 0.3.6

Exit codes: 0 recorded, 1 nothing of the API passed or the server failed to answer, 2 could not run.`,
});
