import type { Log } from '../platform/log.js';
import { isMissing } from '../platform/presence.js';
import { StartError } from '../platform/start-error.js';
import type { RunningGateway } from '../serve/start.js';
import { host as hostKind } from '../settings/kinds.js';
import { settingFlags } from '../settings/read.js';
import type { Settings } from '../settings/table.js';
import type { Command, CommandContext } from './command.js';
import { passwordSentence, writeStarterFile } from './init.js';
import { announceListening, serveUntilStopped } from './serve.js';

/** Says a line to whoever started it: as it is on a terminal, else as a line of the log, which is JSON there. */
type Say = (log: Log, fields: Readonly<Record<string, unknown>>, line: string) => void;

function createSay({ output }: CommandContext): Say {
  return (log, fields, line) => {
    if (output.isTerminal) log.plain(line);
    else log.info(fields, line);
  };
}

/** Writes the files that are missing. Resolves to the settings that they are served with. */
async function createMissing(settings: Settings, context: CommandContext, say: Say, log: Log): Promise<Settings> {
  let served = settings;
  for (const path of settings.home.documents)
    if (await isMissing(context.fileSystem, path)) served = await createFile(path, served, context, say, log);
  return served;
}

async function createFile(
  config: string,
  settings: Settings,
  context: CommandContext,
  say: Say,
  log: Log,
): Promise<Settings> {
  const isAsked = settings.serverHost === null && context.input.isTerminal && context.output.isTerminal;
  const host = isAsked ? await askForHost(context) : null;
  const isOwn = host !== null && context.ownAddresses().some((address) => hostKind.read(address, '') === host);
  const starter = await writeStarterFile(config, context, isOwn ? host : undefined);
  say(log, { config }, `Wrote the starter file ${config}`);
  const place = 'file' in starter.password ? { passwordFile: starter.password.file } : {};
  say(log, place, passwordSentence(starter));
  if (host === null || isOwn) return settings;
  say(
    log,
    { host },
    `Share links name ${host}, which is none of this machine's own: from now on start with --server-host ${host}`,
  );
  return { ...settings, serverHost: host };
}

/** Asks for the address of the tunnel server until it can be one; null where it is left open. Rejects when it is broken off. */
async function askForHost({ input, ownAddresses, output }: CommandContext): Promise<string | null> {
  const own = ownAddresses();
  output.line('At which address or name do clients reach the tunnel server? Share links name it.');
  if (own.length > 0) output.line(`This machine has ${own.join(', ')}.`);
  for (;;) {
    const answer = await input.ask('Address (Enter leaves it open): ');
    if (answer === null) throw new StartError(['broken off: nothing was written']);
    const text = answer.trim();
    if (text === '') return null;
    const host = hostKind.read(text, '');
    if (host !== undefined) return host;
    output.line(`Expected ${hostKind.expected}.`);
  }
}

/** The first mount with a panel, for a browser, else the first API. */
function firstPage({ mounts, at }: RunningGateway): string {
  const withPanel = mounts.find(({ revision }) => revision.capabilities.panel !== undefined);
  return withPanel === undefined ? `API: ${at(`${mounts[0]?.api ?? ''}/`)}` : `Panel: ${at(`${withPanel.base}/`)}`;
}

export const start: Command = {
  name: 'start',
  flags: settingFlags(),
  help: () => `Usage: keyway start [flags]

As "keyway serve", with the same flags, but a configuration file that does not exist is written
first, as "keyway init" does, with a generated password and token. On a terminal it asks then, once,
for the address at which clients reach the tunnel server. Prints the panel's address.`,
  run: (argv, context) => {
    const say = createSay(context);
    return serveUntilStopped('start', argv, context, {
      prepare: (settings, log) => createMissing(settings, context, say, log),
      announce: (gateway, log) => {
        if (context.output.isTerminal) log.info({}, `listening on ${gateway.url}`);
        else announceListening(gateway, context, log);
        say(log, { address: firstPage(gateway) }, firstPage(gateway));
      },
    });
  },
};
