import { parseFlags, problemText } from '../../settings/flags.js';
import { type Command, type CommandContext, type ExitCode, usageProblem } from '../command.js';
import { bashScript } from './bash.js';
import { fishScript } from './fish.js';
import { type OfferedCommand, offeredCommands } from './lines.js';
import { zshScript } from './zsh.js';

const SCRIPTS: ReadonlyMap<string, (commands: readonly OfferedCommand[]) => string> = new Map([
  ['bash', bashScript],
  ['zsh', zshScript],
  ['fish', fishScript],
]);
const SHELLS = [...SCRIPTS.keys()];

async function run(argv: readonly string[], context: CommandContext): Promise<ExitCode> {
  const { words, problems } = parseFlags(argv, []);
  const script = words.length === 1 ? SCRIPTS.get(words[0] ?? '') : undefined;
  if (script === undefined || problems.length > 0) {
    const expected = script === undefined ? [`expected one shell: ${SHELLS.join(', ')}`] : [];
    return usageProblem(context, 'completion', [...problems.map(problemText), ...expected]);
  }
  context.output.line(script(await offeredCommands(context.commands)));
  return 0;
}

export const completion: Command = {
  name: 'completion',
  flags: [],
  words: SHELLS,
  help: () => `Usage: keyway completion bash|zsh|fish

Prints a script for the shell, made from the tables of commands and settings: it completes commands,
flags, revisions, other values that are one of a few words, and paths. It starts nothing when it
completes. Print it again after an update.

  bash:  keyway completion bash > ~/.local/share/bash-completion/completions/keyway
  zsh:   keyway completion zsh > FOLDER/_keyway      # a folder of $fpath
  fish:  keyway completion fish > ~/.config/fish/completions/keyway.fish`,
  run,
};
