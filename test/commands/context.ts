import { setTimeout as sleep } from 'node:timers/promises';
import type { World } from '../../src/commands/command.js';
import { runCommandLine } from '../../src/commands/dispatch.js';
import { linesWithProgress } from '../../src/commands/progress-line.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { systemClock, systemRandom } from '../../src/platform/system-ports.js';
import type { SystemUser } from '../../src/platform/system-user.js';
import { SETTLED_AFTER } from '../../src/wire/traits/storing.js';

/** Real as long as it may be waited for what a server reads from its file; over at once where it is longer. */
async function untilReloaded(milliseconds: number): Promise<void> {
  if (milliseconds < SETTLED_AFTER) await sleep(milliseconds);
}

/** What a command left behind. */
export interface RanHere {
  readonly code: number;
  readonly output: string;
  readonly complaints: string;
  /** What it asked on the terminal, but for secrets. */
  readonly asked: readonly string[];
  /** What was shown of progress on the terminal, in order. */
  readonly progress: readonly string[];
}

/**
 * Runs a command line within the test's own process, in an environment that holds nothing else, its log going to
 * `descriptor`; `terminal` is what it would see of one, and `onProgress` is told what it shows there while it works. One that
 * serves ends when `untilStopped` resolves. What is `piped` is its standard input.
 */
export async function runHere(
  argv: readonly string[],
  {
    folder = '/',
    terminal = false,
    commit = '',
    piped = '',
    secrets = [] as readonly (string | null)[],
    lines = [] as readonly (string | null)[],
    ownAddresses = [] as readonly string[],
    users = {} as Readonly<Record<string, SystemUser | null>>,
    environment = {} as Readonly<Record<string, string>>,
    program = ['/usr/bin/node', '/usr/lib/keyway/cli.js'] as World['program'],
    fileSystem = createFileSystem(),
    descriptor = 1,
    untilStopped = (): Promise<string> => new Promise(() => undefined),
    wait = untilReloaded,
    onHangUp = (_listener: () => void): void => undefined,
    onProgress = (_shown: string): void => undefined,
  } = {},
): Promise<RanHere> {
  let output = '';
  let complaints = '';
  const shown: string[] = [];
  const show = (text: string) => {
    shown.push(text);
    onProgress(text);
  };
  const answers = [...secrets];
  const typed = [...lines];
  const asked: string[] = [];
  const { line, complain, progress } = linesWithProgress(
    {
      line: (text) => {
        output += `${text}\n`;
      },
      complain: (text) => {
        complaints += `${text}\n`;
      },
    },
    terminal ? { write: show, columns: () => 80 } : null,
  );
  const context: World = {
    environment,
    folder,
    version: '0.0.0',
    ownCommit: () => commit,
    output: { isTerminal: terminal, descriptor, line },
    complain,
    progress,
    input: {
      isTerminal: terminal,
      pieces: async function* () {
        yield Buffer.from(piped);
      },
      ask: async (question, problemWith) => {
        for (;;) {
          asked.push(question);
          const answer = typed.shift() ?? null;
          const problem = answer === null ? null : problemWith(answer);
          if (problem === null) return answer;
          output += `${problem}\n`;
        }
      },
      askSecret: async () => answers.shift() ?? null,
    },
    fileSystem,
    clock: systemClock,
    random: systemRandom,
    serviceManager: null,
    ownAddresses: () => ownAddresses,
    findUser: async (user) => (Object.hasOwn(users, user) ? (users[user] ?? null) : 'unknown'),
    program,
    untilStopped,
    wait,
    onHangUp,
    onUncaught: () => undefined,
    keepMemorySmall: () => undefined,
  };
  const code = await runCommandLine(argv, context);
  return { code, output, complaints, asked, progress: shown };
}
