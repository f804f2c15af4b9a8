import { readClientHost } from '../core/client-address.js';
import { failureWords } from '../platform/failure-words.js';
import type { Log } from '../platform/log.js';
import { isMissing } from '../platform/presence.js';
import { isOn, parseFlags, switchFlag } from '../settings/flags.js';
import { host as hostKind } from '../settings/kinds.js';
import { settingFlags } from '../settings/read.js';
import type { Settings } from '../settings/table.js';
import { firstPage } from './addresses.js';
import type { Command, CommandContext } from './command.js';
import { announceListening, serveUntilStopped } from './serve.js';
import { type StarterPassword, writeStarterFile } from './starter-file.js';

/** Says a line to the operator: as it is on a terminal, else as a line of the log, which is JSON there. */
type Say = (log: Log, fields: Readonly<Record<string, unknown>>, line: string) => void;

function createSay({ output }: CommandContext): Say {
  return (log, fields, line) => {
    if (output.isTerminal) log.plain(line);
    else log.info(fields, line);
  };
}

/** Writes the files that are missing, and tells whether there was one. */
async function createMissing({ home }: Settings, context: CommandContext, say: Say, log: Log): Promise<boolean> {
  const missing: string[] = [];
  for (const path of home.documents) if (await isMissing(context.fileSystem, path)) missing.push(path);
  for (const config of missing) {
    const password = await writeStarterFile(config, context);
    say(log, { config }, `Wrote the starter file ${config}`);
    say(log, 'file' in password ? { passwordFile: password.file } : {}, passwordSentence(password));
  }
  return missing.length > 0;
}

function passwordSentence(password: StarterPassword): string {
  if ('shown' in password) return `The password of the user admin, shown this once: ${password.shown}`;
  return `The password of the user admin stands in ${password.file} (readable by you alone)`;
}

/** Asks for the address that share links name, and keeps it. Resolves to false when that was broken off. */
async function askForHost(
  keepHost: (host: string) => Promise<string>,
  { input, ownAddresses, output }: CommandContext,
  log: Log,
): Promise<boolean> {
  const own = ownAddresses();
  await log.flush();
  output.line('At which address or name do clients reach the tunnel server? Share links name it.');
  if (own.length > 0) output.line(`This machine has ${own.join(', ')}.`);
  const answer = await input.ask('Address (Enter leaves it open): ', (text) =>
    text.trim() === '' || readClientHost(text) !== null ? null : `Expected ${hostKind.expected}.`,
  );
  if (answer === null) return false;
  const host = readClientHost(answer);
  if (host === null) return true;
  try {
    log.plain(`Wrote ${host} into ${await keepHost(host)}: share links name it from now on`);
  } catch (error) {
    log.error({}, `the address cannot be kept (${failureWords(error)}): start with --server-host ${host}`);
  }
  return true;
}

const YES = switchFlag('yes');

export const start: Command = {
  name: 'start',
  flags: [...settingFlags(), YES],
  help: () => `Usage: keyway start [flags] [--yes]

As "keyway serve", with the same flags, but a configuration file that does not exist is written
first, by default ./keyway.jsonc: commented, readable by its owner alone, with one access key, an API
token, a web path and a password, all generated. On a terminal the password is shown, once. Otherwise
it is in a file next to it of mode 0600, keyway.password for keyway.jsonc.

Prints the panel's address. After that it asks on a terminal, once, at which address clients reach
the tunnel server, and keeps it in .ostp_public_ip next to the file.

  --yes    Asks nothing.`,
  run: (argv, context) => {
    const say = createSay(context);
    const isTerminal = context.input.isTerminal && context.output.isTerminal;
    const mayAsk = isTerminal && !isOn(parseFlags(argv, start.flags), YES.flag);
    let isFirst = false;
    return serveUntilStopped(start, argv, context, {
      async prepare(settings, log) {
        isFirst = await createMissing(settings, context, say, log);
      },
      async announce(gateway, log) {
        announceListening(gateway, context, log);
        if (!context.output.isTerminal) log.info({}, firstPage(gateway));
        if (isFirst && mayAsk && gateway.keepHost !== null && !(await askForHost(gateway.keepHost, context, log)))
          return 'broken off';
        gateway.reportHost();
        return 'goes on';
      },
    });
  },
};
