import { helpList } from '../settings/text.js';
import { didYouMean } from '../wire/suggest.js';
import type { ExitCode, ListedCommand, World } from './command.js';
import { COMMAND_GROUPS, COMMANDS } from './commands.js';
import { COMPLETE, complete } from './completion/complete.js';

function overview(): string {
  const groups = COMMAND_GROUPS.map(({ heading, commands }) => ({
    heading,
    entries: commands.map(({ name, summary }) => ({ term: name, meaning: summary })),
  }));
  const width = Math.max(...COMMANDS.map(({ name }) => name.length));
  return `Usage: keyway COMMAND [flags]

Keyway serves every revision of an access-key server's management API from that server's own
configuration file.

${groups.map(({ heading, entries }) => `${heading}:\n${helpList(entries, width)}`).join('\n\n')}

"keyway COMMAND --help" tells all about one command, "keyway --version" Keyway's version and commit.

First steps:
  keyway start
Beside a server that runs already:
  keyway serve --config /etc/tunnel/server.jsonc --bind 127.0.0.1:9091

Exit codes: 0 done, 1 a problem that was said, 2 a wrong command line or setting, 3 less was seen than was
required.`;
}

const VERSION_WORDS: ReadonlySet<string> = new Set(['--version', '-V', '-v', 'version']);

/** Runs one command line (without the program's own name). */
export async function runCommandLine(argv: readonly string[], world: World): Promise<ExitCode> {
  const [first] = argv;
  if (first === undefined) {
    world.complain(overview());
    return 2;
  }
  if (first === COMPLETE) return complete(argv.slice(1), COMMANDS, world);
  if (VERSION_WORDS.has(first)) {
    const commit = world.ownCommit();
    world.output.line(commit === '' ? world.version : `${world.version} (commit ${commit})`);
    return 0;
  }
  if (first === '--help' || first === '-h' || first === 'help') return showHelp(argv.slice(1), world);
  const found = findCommand(argv);
  if (found === null) return unknownCommand(argv, world);
  const { rest } = found;
  const command = await found.listed.load();
  if (asksForHelp(rest)) {
    world.output.line(command.help());
    return 0;
  }
  return command.run(rest, { ...world, commands: COMMANDS });
}

function asksForHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return argv.slice(0, end < 0 ? undefined : end).some((argument) => argument === '--help' || argument === '-h');
}

async function showHelp(words: readonly string[], world: World): Promise<ExitCode> {
  if (words.length === 0) {
    world.output.line(overview());
    return 0;
  }
  const found = findCommand(words);
  if (found === null) return unknownCommand(words, world);
  world.output.line((await found.listed.load()).help());
  return 0;
}

interface FoundCommand {
  readonly listed: ListedCommand;
  readonly rest: readonly string[];
}

function findCommand(argv: readonly string[]): FoundCommand | null {
  for (const listed of COMMANDS) {
    const words = listed.name.split(' ');
    if (words.every((word, index) => argv[index] === word)) return { listed, rest: argv.slice(words.length) };
  }
  return null;
}

function unknownCommand([first = '', second = '']: readonly string[], world: World): ExitCode {
  const family = COMMANDS.filter(({ name }) => name.startsWith(`${first} `));
  const known = COMMANDS.map(({ name }) => name);
  if (family.length > 0) {
    const list = helpList(family.map(({ name, summary }) => ({ term: `keyway ${name}`, meaning: summary })));
    if (asksForHelp([second])) {
      world.output.line(list);
      return 0;
    }
    world.complain(`expected one of these${didYouMean(`${first} ${second}`, known, 'keyway ')}:\n${list}`);
    return 2;
  }
  const shown = /^[\w-]{1,40}$/.test(first) ? ` ${JSON.stringify(first)}` : '';
  world.complain(`there is no such command${shown}${didYouMean(first, known, 'keyway ')}`);
  world.complain('See: keyway --help');
  return 2;
}
