import { helpList } from '../settings-help.js';
import { didYouMean } from '../settings-suggest.js';
import type { Command, CommandContext, ExitCode } from './command.js';
import { configList, configRestore } from './config.js';
import { hashPassword } from './hash-password.js';
import { init } from './init.js';
import { openapi } from './openapi.js';
import { revisions } from './revisions.js';
import { serve } from './serve.js';
import { start } from './start.js';

/** Every command, in the order of the help text. */
export const COMMANDS: readonly Command[] = [
  serve,
  start,
  init,
  configList,
  configRestore,
  revisions,
  openapi,
  hashPassword,
];

function overview(): string {
  const commands = COMMANDS.map(({ name, summary }) => ({ term: name, meaning: summary }));
  return `Usage: keyway COMMAND [flags]

Keyway serves every revision of an access-key server's management API from that server's own
configuration file.

${helpList(commands)}

"keyway COMMAND --help" tells all about one command, "keyway --version" Keyway's version.

First steps:
  keyway init
  keyway serve
Beside a server that runs already:
  keyway serve --config /etc/tunnel/server.jsonc --bind 127.0.0.1:9091

Exit codes: 0 done, 1 a problem that was said, 2 a wrong command line or setting.`;
}

/** Runs one command line (without the program's own name). */
export async function runCommandLine(argv: readonly string[], context: CommandContext): Promise<ExitCode> {
  const [first] = argv;
  if (first === undefined) {
    context.complain(overview());
    return 2;
  }
  if (first === '--version' || first === '-V') {
    context.output.line(context.version);
    return 0;
  }
  if (first === '--help' || first === '-h' || first === 'help') return showHelp(argv.slice(1), context);
  const found = findCommand(argv);
  if (found === null) return unknownCommand(argv, context);
  const { command, rest } = found;
  if (asksForHelp(rest)) {
    context.output.line(command.help());
    return 0;
  }
  return command.run(rest, context);
}

function asksForHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return argv.slice(0, end < 0 ? undefined : end).some((argument) => argument === '--help' || argument === '-h');
}

function showHelp(words: readonly string[], context: CommandContext): ExitCode {
  if (words.length === 0) {
    context.output.line(overview());
    return 0;
  }
  const found = findCommand(words);
  if (found === null) return unknownCommand(words, context);
  context.output.line(found.command.help());
  return 0;
}

function findCommand(argv: readonly string[]): { readonly command: Command; readonly rest: readonly string[] } | null {
  for (const command of COMMANDS) {
    const words = command.name.split(' ');
    if (words.every((word, index) => argv[index] === word)) return { command, rest: argv.slice(words.length) };
  }
  return null;
}

function unknownCommand([first = '', second]: readonly string[], context: CommandContext): ExitCode {
  const family = COMMANDS.filter(({ name }) => name.startsWith(`${first} `));
  if (family.length > 0) {
    if (asksForHelp([second ?? ''])) {
      context.output.line(family.map((command) => command.help()).join('\n\n'));
      return 0;
    }
    context.complain(`expected one of: ${family.map(({ name }) => `keyway ${name}`).join(', ')}`);
    return 2;
  }
  const known = COMMANDS.map(({ name }) => name);
  const shown = /^[\w-]{1,40}$/.test(first) ? ` ${JSON.stringify(first)}` : '';
  context.complain(`there is no such command${shown}${didYouMean(first, known, 'keyway ')}`);
  context.complain('See: keyway --help');
  return 2;
}
