import { isUtf8 } from 'node:buffer';
import { resolveRevision } from '../../revisions/index.js';
import { pbkdf2Hash, SALT_BYTES, sha256Hash } from '../core/password.js';
import type { RandomPort } from '../core/ports.js';
import { valueFlag } from '../settings/flags.js';
import { readsPbkdf2 } from '../wire/traits/password-form.js';
import { type CommandContext, wordsOf } from './command.js';
import { defineCommand, NO_HOME } from './define-command.js';

/** The version of the server that is to read a hash. */
export const FOR = valueFlag('for', 'VERSION');

/** Tells whether servers of the given version read PBKDF2; null without a version. Throws an `Error` for people. */
export function wantsPbkdf2(given: string | undefined): boolean | null {
  if (given === undefined) return null;
  const resolved = resolveRevision(given);
  if (!resolved.ok) throw new Error(`--for: ${resolved.problem}`);
  return readsPbkdf2(resolved.version);
}

export async function passwordHashOf(password: string, isStretched: boolean, random: RandomPort): Promise<string> {
  return isStretched ? pbkdf2Hash(password, random.bytes(SALT_BYTES)) : sha256Hash(password);
}

/** Longer input is not taken as a password. */
const MOST_BYTES = 64 * 1024;

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

const NO_WORDS =
  'hash-password takes no arguments but --for: the password comes from the terminal or a pipe, never from the command line';

export const hashPassword = defineCommand<boolean, null>({
  name: 'hash-password',
  flags: [FOR],
  home: NO_HOME,
  ask(reading, { words }) {
    if (words.length > 0) reading.problems.push(NO_WORDS);
    try {
      return wantsPbkdf2(reading.value(FOR.flag) ?? undefined) ?? false;
    } catch (error) {
      reading.problems.push(wordsOf(error));
      return false;
    }
  },
  async work(_home, isStretched, context) {
    const given = await readPassword(context);
    if ('problem' in given) throw new Error(given.problem);
    context.output.line(await passwordHashOf(given.password, isStretched, context.random));
  },
  help: () => `Usage: keyway hash-password [--for VERSION]

Reads a password and prints its lowercase hexadecimal SHA-256, which is what the member
password_hash of a server's configuration file and the flag --password-hash take.

On a terminal the password is asked for twice and not shown. From a pipe one line is read:

  keyway hash-password < password.txt

  --for VERSION  The server that reads it. From 0.4.7 on it is PBKDF2, which is slow to guess, and
                 which no older server lets anybody in with.`,
});
