import type { CommandContext } from '../../src/commands/command.js';
import { runCommandLine } from '../../src/commands/dispatch.js';
import { createFileSystem } from '../../src/local/file-system.js';
import { systemClock, systemRandom } from '../../src/local/system-ports.js';

/** Runs a command line within the test's own process, in an empty environment; `terminal` is what it would see of one. */
export async function runHere(
  argv: readonly string[],
  { folder = '/', terminal = false, secrets = [] as readonly (string | null)[] } = {},
): Promise<{ readonly code: number; readonly output: string; readonly complaints: string }> {
  let output = '';
  let complaints = '';
  const answers = [...secrets];
  const context: CommandContext = {
    environment: {},
    folder,
    version: '0.0.0',
    output: {
      isTerminal: terminal,
      descriptor: 1,
      line: (text) => {
        output += `${text}\n`;
      },
    },
    complain: (line) => {
      complaints += `${line}\n`;
    },
    input: {
      isTerminal: terminal,
      readAll: async () => Buffer.alloc(0),
      askSecret: async () => answers.shift() ?? null,
    },
    fileSystem: createFileSystem(),
    clock: systemClock,
    random: systemRandom,
    untilStopped: () => new Promise(() => undefined),
  };
  const code = await runCommandLine(argv, context);
  return { code, output, complaints };
}
