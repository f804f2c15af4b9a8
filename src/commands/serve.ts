import { createLog, type Log } from '../platform/log.js';
import { isMissing } from '../platform/presence.js';
import { createSeededPorts } from '../platform/seeded-ports.js';
import { StartError } from '../platform/start-error.js';
import { createServiceReports } from '../serve/service.js';
import { type RunningGateway, startGateway } from '../serve/start.js';
import { problemText } from '../settings/flags.js';
import { settingsHelp } from '../settings/help.js';
import { type SettingsRead, settingFlags, settingsFromCommandLine } from '../settings/read.js';
import type { Settings } from '../settings/table.js';
import { addressLines } from './addresses.js';
import { type Command, type CommandContext, type ExitCode, usageProblem, wordsOf } from './command.js';

/** The steps that `start` adds to `serve`. */
export interface ServeSteps {
  /** Before the configuration file is opened; a failure ends the command. */
  readonly prepare: (settings: Settings, log: Log) => Promise<void>;
  /** Says, once the gateway listens, where, and asks what is to be asked; resolves when that is over. */
  readonly announce: (gateway: RunningGateway, log: Log) => Promise<'goes on' | 'broken off'>;
}

/** Serves until the process is asked to end. */
export async function serveUntilStopped(
  command: Command,
  argv: readonly string[],
  context: CommandContext,
  { prepare, announce }: ServeSteps,
): Promise<ExitCode> {
  const read = await readServeSettings(command, argv, context);
  if (typeof read === 'number') return read;
  const { settings, warnings } = read;
  const { isTerminal, descriptor } = context.output;
  const log = await createLog({ level: settings.logLevel, pretty: isTerminal, to: descriptor });
  for (const warning of warnings) log.warn({}, warning);
  const stopped = context.untilStopped();
  const broken = untilBroken(context, log);
  const service = createServiceReports(context.serviceManager, log);
  try {
    await prepare(settings, log);
    await refuseMissing(settings, context);
    const { fileSystem, progress, version } = context;
    const { clock, random } = settings.seed === null ? context : createSeededPorts(settings.seed);
    const starting = startGateway(settings, { fileSystem, clock, random, log, progress }, version);
    const gateway = await Promise.race([starting, broken.then(() => Promise.reject(new StartError([])))]);
    if (gateway === null) return 0;
    context.keepMemorySmall();
    const ready = () => service.ready(`Listening on ${gateway.url}`);
    // A closed terminal says so by the same signal: where that is no certificate's, it ends what ran on it.
    if (settings.tlsCert !== null || !isTerminal)
      context.onHangUp(async () => {
        await service.reloading();
        await gateway.reload();
        await ready();
      });
    const announced = announce(gateway, log);
    void ready();
    // Breaking off the question ends the command: the terminal hands the signal to the question.
    const brokenOff = announced.then((end) => (end === 'broken off' ? 'SIGINT' : new Promise<never>(() => undefined)));
    const signal = await Promise.race([stopped, broken, brokenOff]);
    log.info({ ...(signal === null ? {} : { signal }) }, 'stopping: no new requests, what was accepted is finished');
    await Promise.all([service.stopping(), gateway.close()]);
    log.info({}, 'stopped');
    return signal === null ? 1 : 0;
  } catch (error) {
    const problems = error instanceof StartError ? error.problems : [wordsOf(error)];
    for (const problem of problems) {
      if (settings.logLevel === 'silent') context.complain(problem);
      else log.error({}, problem);
    }
    return error instanceof StartError ? error.exitCode : 1;
  } finally {
    service.end();
    await log.flush();
  }
}

/**
 * The last resort: an exception that nobody caught, and that rose in the events of one connection before any change began, ends
 * that connection. Resolves to null at the first other one, after which nothing is to be relied on.
 */
function untilBroken({ onUncaught }: CommandContext, log: Log): Promise<null> {
  return new Promise((resolve) => {
    onUncaught((error, connection) => {
      if (connection === null) {
        log.error({ error }, 'an exception that nobody caught: Keyway ends, and writes what was acknowledged');
        resolve(null);
        return;
      }
      log.error({ error }, 'an exception in the events of a connection, which is ended: please report it');
      connection.destroy();
    });
  });
}

async function readServeSettings(
  { name, flags }: Command,
  argv: readonly string[],
  context: CommandContext,
): Promise<SettingsRead | ExitCode> {
  const { environment, folder, fileSystem } = context;
  const answer = await settingsFromCommandLine(argv, { environment, folder, readFile: fileSystem.read }, flags);
  return answer.ok ? answer : usageProblem(context, name, answer.problems.map(problemText));
}

/** A missing file is nearly always a wrong folder or a first start; both have a remedy. */
async function refuseMissing({ home }: Settings, context: CommandContext): Promise<void> {
  for (const config of home.documents) {
    if (!(await isMissing(context.fileSystem, config))) continue;
    throw new StartError([
      `there is no configuration file ${config}: "keyway start" writes one, or name the server's own with --config`,
    ]);
  }
}

/** Says where it listens: on a terminal a line for each mount, else one with all of them. */
export function announceListening(gateway: RunningGateway, context: CommandContext, log: Log): void {
  const { url, mounts, at } = gateway;
  const { output, version } = context;
  if (output.isTerminal) {
    log.info({}, `listening on ${url}`);
    for (const line of addressLines(gateway, context)) log.plain(line);
    return;
  }
  const served = mounts.map((mount) => ({ revision: mount.revision.id, version: mount.version, api: at(mount.api) }));
  log.info({ url, mounts: served, keyway: version }, `listening on ${url}`);
}

export const serve: Command = {
  name: 'serve',
  flags: settingFlags(),
  help: () => `Usage: keyway serve [flags]

Serves the management API of a server's configuration file, in one revision or several at once,
until SIGTERM or SIGINT; another one, a second later or more, ends it at once. The log goes to
standard output: readable on a terminal, one JSON object a line otherwise, the line that says
where it listens with "url".

Each setting is a flag, an environment variable (named after the default below) and a member of
the settings file (the flag's name, written with _). A flag wins over the environment, that over the
settings file. The variable of a repeatable setting takes several values with commas between them.

${settingsHelp()}

  keyway serve --config /etc/tunnel/server.jsonc --bind 127.0.0.1:9091
  keyway serve --config /etc/tunnel/server.jsonc --bind unix:/run/keyway/api.sock --trust-proxy unix
  keyway serve --revision 0.2.34 --revision 0.2.48@old --revision 0.2.96@new`,
  run: (argv, context) =>
    serveUntilStopped(serve, argv, context, {
      prepare: async () => undefined,
      async announce(gateway, log) {
        announceListening(gateway, context, log);
        gateway.reportHost();
        return 'goes on';
      },
    }),
};
