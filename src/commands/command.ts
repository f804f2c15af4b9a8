import { DomainError, messageOf } from '../core/errors.js';
import type { ClockPort, FileSystemPort, ProgressPort, RandomPort, ServiceManagerPort } from '../core/ports.js';
import type { SystemUser } from '../platform/system-user.js';
import type { FlagShape, Offered } from '../settings/flags.js';
import { commonErrors, encodeError, toldInFull } from '../wire/errors.js';

/** 0: done; 1: a problem that was said; 2: the command line or a setting is wrong; 3: less was seen than was required. */
export type ExitCode = 0 | 1 | 2 | 3;

/** A command's context: everything of the outside world that it may use, and the other commands. */
export interface CommandContext extends World {
  /** The table of all commands, for what is said of them as a whole. */
  readonly commands: readonly ListedCommand[];
}

/** The outside world as commands see it. Only `program.ts` makes one from the real process. */
export interface World {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The working folder, absolute. */
  readonly folder: string;
  /** Keyway's own version. */
  readonly version: string;
  /** The commit that it was built from; empty where that is not known. */
  readonly ownCommit: () => string;
  readonly output: Output;
  /** Lines about problems. */
  readonly complain: (line: string) => void;
  /** Shown on a terminal alone, until the next line. */
  readonly progress: ProgressPort;
  readonly input: Input;
  readonly fileSystem: FileSystemPort;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  /** The manager that started this process as a service and wants to hear from it; null elsewhere. */
  readonly serviceManager: ServiceManagerPort | null;
  /** The addresses at which others may reach this machine, IPv4 first. */
  readonly ownAddresses: () => readonly string[];
  /** Finds a user of this machine by name or number: null for none, 'unknown' where the system does not tell. */
  readonly findUser: (user: string) => Promise<SystemUser | 'unknown' | null>;
  /** The paths of Node and of the command with which this program was started, absolute. */
  readonly program: readonly [node: string, script: string];
  /** Resolves with the signal's name when the process is asked to end. */
  readonly untilStopped: () => Promise<string>;
  /** Resolves after this many milliseconds. */
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Called back at every SIGHUP from now on, which by convention asks to read files again; without it SIGHUP ends all. */
  readonly onHangUp: (listener: () => void) => void;
  /** Called back at every exception that nobody caught from now on, which without it ends the process. */
  readonly onUncaught: (listener: UncaughtListener) => void;
  /** Called once the process serves: from then on its young objects have as much room as they have then, and no more. */
  readonly keepMemorySmall: () => void;
}

/**
 * Told of an exception that nobody caught. `connection` is the one in whose own events it rose before any change began; null
 * where it may have left anything half done.
 */
export type UncaughtListener = (error: unknown, connection: { destroy(): void } | null) => void;

export interface Output {
  readonly isTerminal: boolean;
  /** The file descriptor, for the log. */
  readonly descriptor: number;
  /** Writes text as it is, followed by a line end. */
  line(text: string): void;
}

/** Standard input. */
export interface Input {
  readonly isTerminal: boolean;
  /** All that comes, to its end, as it comes. */
  pieces(): AsyncIterable<Buffer>;
  /** Asks on the terminal, again while something is wrong with the answer, and reads one line; null when it was broken off (Ctrl-C, Ctrl-D). */
  ask(question: string, problemWith: (answer: string) => string | null): Promise<string | null>;
  /** Asks on the terminal and reads one line without showing it; null when it was broken off (Ctrl-C, Ctrl-D). */
  askSecret(question: string): Promise<string | null>;
}

export interface Command {
  /** One word or two, such as `config list`. */
  readonly name: string;
  /** The flags that it accepts in addition to `--help`. */
  readonly flags: readonly FlagShape[];
  /** Words that shells offer; left out for none, or none that can be known. */
  readonly words?: Offered;
  /** The whole help text. */
  help(): string;
  run(argv: readonly string[], context: CommandContext): Promise<ExitCode>;
}

/** A command as the list of commands shows it. Its module is loaded when it is asked for: `serve` brings a whole server. */
export interface ListedCommand {
  /** One word or two, such as `config list`. */
  readonly name: string;
  /** One line. */
  readonly summary: string;
  load(): Promise<Command>;
}

/** Commands that the help text shows under one heading. */
export interface CommandGroup {
  readonly heading: string;
  readonly commands: readonly ListedCommand[];
}

/** Says what is wrong with a command line, and where its help is. */
export function usageProblem(context: CommandContext, name: string, problems: readonly string[]): ExitCode {
  for (const problem of problems) context.complain(problem);
  context.complain(`See: keyway ${name} --help`);
  return 2;
}

/** Words for people about a failure: an error's message without its class, or what the API says of it. */
export function wordsOf(error: unknown): string {
  if (error instanceof DomainError) return encodeError(toldInFull(commonErrors), { failures: [] }, error).text;
  return messageOf(error);
}
