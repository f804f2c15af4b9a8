import { dirname } from 'node:path';
import { FILE_LIMITS } from '../../core/file-limits.js';
import type { ServerConfiguration } from '../../core/model.js';
import { readDocument } from '../../document/document.js';
import { failureWords } from '../../platform/failure-words.js';
import type { SystemUser } from '../../platform/system-user.js';
import { type FlagShape, isOn, parseFlags, problemText, switchFlag, valueFlag } from '../../settings/flags.js';
import { GONE_SETTING_FLAGS } from '../../settings/gone.js';
import { settingsHelp } from '../../settings/help.js';
import { readSettings, settingFlags } from '../../settings/read.js';
import { type Settings, variableOf } from '../../settings/table.js';
import { type Command, type CommandContext, type ExitCode, usageProblem } from '../command.js';
import { flagsElsewhere, secretProblems } from './command-line.js';
import { placeProblems, type ServicePlaces, servicePlaces } from './places.js';
import { closedFolder, mayWriteIn, OWN_USER } from './reach.js';
import { HOMES, isWithin, STATE_FOLDER, serviceUnit } from './unit.js';

const FLAGS: readonly FlagShape[] = [switchFlag('print'), valueFlag('user', 'NAME'), ...settingFlags()];
const LOWEST_FREE_PORT = 1024;

/** A name or a number, which systemd takes (systemd.exec(5), "User="). */
const USER = /^(?:[A-Za-z_][\w-]{0,30}|0|[1-9]\d{0,9})$/;

async function run(argv: readonly string[], context: CommandContext): Promise<ExitCode> {
  const flags = parseFlags(argv, FLAGS, GONE_SETTING_FLAGS);
  const { folder, fileSystem, program, version } = context;
  const readFile = fileSystem.read;
  // The service starts without the environment of the user who prints its unit.
  const answer = await readSettings({ flags, environment: {}, folder, readFile });
  const user = flags.values.get('user')?.[0] ?? null;
  const problems = [
    ...(isOn(flags, 'print') ? [] : ['expected --print: the unit is printed, and nothing is installed']),
    ...(flags.words.length === 0 ? [] : ['expected flags only, the configuration file as --config FILE']),
    ...(user === null || USER.test(user) ? [] : ["user (flag --user): expected a user's name or number"]),
    ...secretProblems(flags),
    ...(answer.ok ? [] : answer.problems.map(problemText)),
  ];
  if (!answer.ok || problems.length > 0) return usageProblem(context, 'install-service', problems);
  const { settings } = answer;
  const places = servicePlaces(answer, await foldersOf(settings, user, context));
  const commandLine = [...program, 'serve', ...flagsElsewhere(flags, answer, folder)];
  const found = user === null ? OWN_USER : await context.findUser(user);
  const misplaced = [
    ...(found === null ? [`user (flag --user): there is no user ${user} on this machine`] : []),
    ...placeProblems(places, [...commandLine, ...places.writable], user),
  ];
  if (misplaced.length > 0) return usageProblem(context, 'install-service', misplaced);
  const ports = [...places.ports, ...(await portsOfFiles(settings, context))];
  const needsLowPort = ports.some((port) => port > 0 && port < LOWEST_FREE_PORT);
  const { writable } = places;
  const readable = [...places.readable, ...program];
  noteVariables(context);
  if (found !== null && found !== 'unknown') await noteClosed({ user, found, writable, readable }, context);
  context.output.line(serviceUnit({ version, commandLine, user, writable, readable, needsLowPort }));
  return 0;
}

/** The folders in which files are replaced: links are followed, except where the service manager makes the folder. */
async function foldersOf({ home }: Settings, user: string | null, { fileSystem }: CommandContext) {
  const real = async (path: string) => (user === null ? path : fileSystem.realPath(path).catch(() => path));
  return Promise.all(home.documents.map(async (path) => dirname(await real(path))));
}

/** The ports that the files themselves name, so far as they can be read. */
async function portsOfFiles(settings: Settings, context: CommandContext): Promise<readonly number[]> {
  return (await Promise.all(settings.home.documents.map((path) => portsOfFile(path, settings, context)))).flat();
}

async function portsOfFile(
  config: string,
  { bind, embeddedResolver }: Settings,
  { fileSystem, complain }: CommandContext,
): Promise<readonly number[]> {
  try {
    const { configuration } = readDocument(await fileSystem.read(config, FILE_LIMITS.configuration));
    return [
      ...(bind === null ? listenerPort(configuration) : []),
      ...(embeddedResolver === false ? [] : resolverPort(configuration)),
    ];
  } catch (error) {
    complain(`${config} cannot be read (${failureWords(error)}): print the unit again if it names a port below 1024`);
    return [];
  }
}

function listenerPort({ listener }: ServerConfiguration): readonly number[] {
  const port = /:(\d{1,5})$/.exec(listener?.bind ?? '')?.[1];
  return port === undefined ? [] : [Number(port)];
}

function resolverPort({ dns }: ServerConfiguration): readonly number[] {
  return dns.enabled ? [dns.localPort] : [];
}

function noteVariables({ environment, complain }: CommandContext): void {
  const variables = new Set(settingFlags().map(({ flag }) => variableOf(flag)));
  const set = [...variables].filter((variable) => (environment[variable] ?? '') !== '');
  if (set.length > 0) complain(`not in the unit, because only this shell has them: ${set.join(', ')}`);
}

interface Reached extends Pick<ServicePlaces, 'writable' | 'readable'> {
  /** Null for a user that exists only while the service runs. */
  readonly user: string | null;
  readonly found: SystemUser;
}

/** Notes what the service's user cannot reach or write. Access lists may let it all the same, so that the unit is printed. */
async function noteClosed(
  { user, found, writable, readable }: Reached,
  { fileSystem, complain, program }: CommandContext,
): Promise<void> {
  const whom = user === null ? "the service's user" : `user ${user}`;
  for (const path of [...writable, ...readable]) {
    const folder = await closedFolder(fileSystem, found, path);
    const remedy = program.includes(path)
      ? '; install Keyway and Node where everybody may read, such as /opt/keyway'
      : '';
    if (folder !== null) complain(`${path} cannot be reached by ${whom}: ${folder} is closed to others${remedy}`);
    else if (isInHome(path)) complain(`${path} is in a home folder: ${whom} has to be able to reach it`);
  }
  if (user === null) return;
  for (const folder of writable)
    if (!(await mayWriteIn(fileSystem, found, folder)))
      complain(
        `${folder} cannot be written by ${whom}, and every change replaces the file in it: chown ${user} ${folder}`,
      );
}

function isInHome(path: string): boolean {
  return HOMES.some((home) => isWithin(path, home));
}

export const installService: Command = {
  name: 'install-service',
  flags: FLAGS,
  help: () => `Usage: keyway install-service --print [--user NAME] [flags of serve]

Prints a systemd unit that serves with these settings and as few rights as Keyway can do with, for
systemd 250 or later. It installs nothing: the first lines of the unit say where it goes. Settings
are taken from the flags and the settings file, never from this shell's variables; paths become
absolute. Print it again when one of them, or a port in the configuration file, changes.

Tokens and the password's hash are not taken as flags, because every user of the machine can read a
unit: leave them in the configuration file, or name a settings file that only the service's user reads.

  --print      Print the unit to standard output.
  --user NAME  The user that it runs as: the owner of the server's file, who may write in the file's
               folder. Without it the service has a user that exists only while it runs, and the
               file has to be in ${STATE_FOLDER}.

${settingsHelp()}

  keyway install-service --print --user tunnel --config /etc/tunnel/server.jsonc --bind 127.0.0.1:9091
  keyway install-service --print --config ${STATE_FOLDER}/keyway.jsonc`,
  run,
};
