import type { Log } from '../platform/log.js';
import { isMissing } from '../platform/presence.js';
import type { RunningGateway } from '../serve/start.js';
import { settingFlags } from '../settings/read.js';
import type { Settings } from '../settings/table.js';
import type { Command, CommandContext } from './command.js';
import { passwordSentence, writeStarterFile } from './init.js';
import { serveUntilStopped } from './serve.js';

/** Says a line to whoever started it: as it is on a terminal, else as a line of the log, which is JSON there. */
type Say = (log: Log, fields: Readonly<Record<string, unknown>>, line: string) => void;

function createSay({ output }: CommandContext): Say {
  return (log, fields, line) => {
    if (output.isTerminal) log.plain(line);
    else log.info(fields, line);
  };
}

async function createMissing({ config }: Settings, context: CommandContext, say: Say, log: Log): Promise<void> {
  if (config === null || !(await isMissing(context.fileSystem, config))) return;
  const starter = await writeStarterFile(config, context);
  say(log, { config }, `Wrote the starter file ${config}`);
  const place = 'file' in starter.password ? { passwordFile: starter.password.file } : {};
  say(log, place, passwordSentence(starter));
}

/** Where a browser goes: the first mount with a panel, else the first API. */
function addressOf({ mounts, at }: RunningGateway): string {
  const withPanel = mounts.find(({ revision }) => revision.capabilities.panel !== undefined);
  return withPanel === undefined ? `API: ${at(`${mounts[0]?.api ?? ''}/`)}` : `Panel: ${at(`${withPanel.base}/`)}`;
}

export const start: Command = {
  name: 'start',
  flags: settingFlags(),
  help: () => `Usage: keyway start [flags]

As "keyway serve", with the same flags, but a configuration file that does not exist is written
first, as "keyway init" does, with a generated password and token. Prints the panel's address.`,
  run: (argv, context) => {
    const say = createSay(context);
    return serveUntilStopped('start', argv, context, {
      prepare: (settings, log) => createMissing(settings, context, say, log),
      announce: (gateway, log) => say(log, { address: addressOf(gateway) }, addressOf(gateway)),
    });
  },
};
