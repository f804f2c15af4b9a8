import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { type Command, type CommandContext, type ExitCode, usageProblem } from './command.js';

/** Lowercase hexadecimal SHA-256 of the password's UTF-8 (protocol: "Login"). */
export function passwordHashOf(password: string): string {
  return createHash('sha256').update(password, 'utf8').digest('hex');
}

/** A password that is longer is none. */
const MOST_BYTES = 64 * 1024;

/** A password, or what is wrong with what was given. */
type Given = { readonly password: string } | { readonly problem: string };

async function askTwice({ input }: CommandContext): Promise<Given> {
  const first = await input.askSecret('Password: ');
  const second = first === null || first === '' ? first : await input.askSecret('The same again: ');
  if (first === null || second === null) return { problem: 'broken off: nothing was done' };
  return first === second ? { password: first } : { problem: 'the two passwords differ: nothing was done' };
}

/** The one line of a pipe, less its line end. */
async function readLine({ input }: CommandContext): Promise<Given> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of input.pieces()) {
    pieces.push(piece);
    length += piece.length;
    if (length > MOST_BYTES)
      return { problem: `expected one line with the password, got more than ${MOST_BYTES} bytes` };
  }
  const bytes = Buffer.concat(pieces);
  if (!isUtf8(bytes)) return { problem: 'the password is no valid UTF-8' };
  const [first = '', ...others] = bytes.toString('utf8').split(/\r?\n/);
  if (others.some((line) => line !== '')) return { problem: 'expected one line with the password, got several' };
  return { password: first };
}

/** A new password: asked for twice on a terminal, else the one line that comes. */
export async function readPassword(context: CommandContext): Promise<Given> {
  const given = context.input.isTerminal ? await askTwice(context) : await readLine(context);
  return 'password' in given && given.password === '' ? { problem: 'no password was given' } : given;
}

async function run(argv: readonly string[], context: CommandContext): Promise<ExitCode> {
  if (argv.length > 0) {
    const problem =
      'hash-password takes no arguments: the password comes from the terminal or a pipe, never from the command line';
    return usageProblem(context, 'hash-password', [problem]);
  }
  const given = await readPassword(context);
  if ('problem' in given) {
    context.complain(`keyway hash-password: ${given.problem}`);
    return 1;
  }
  context.output.line(passwordHashOf(given.password));
  return 0;
}

export const hashPassword: Command = {
  name: 'hash-password',
  flags: [],
  help: () => `Usage: keyway hash-password

Reads a password and prints its lowercase hexadecimal SHA-256, which is what the member
password_hash of a server's configuration file and the flag --password-hash take.

On a terminal the password is asked for twice and not shown. From a pipe one line is read:

  keyway hash-password < password.txt`,
  run,
};
