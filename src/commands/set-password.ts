import { isPbkdf2 } from '../core/password.js';
import { passwordHashIn, withOperator } from '../document/operator-change.js';
import { rewriteFile } from '../files/rewrite-file.js';
import { readTarget, TargetChangedError, type TargetFile } from '../files/write-file.js';
import { failureWords } from '../platform/failure-words.js';
import { valueFlag } from '../settings/flags.js';
import { shellWord } from '../settings/text.js';
import type { CommandContext } from './command.js';
import { FOR, passwordHashOf, readPassword, wantsPbkdf2 } from './hash-password.js';
import { documentCommand } from './stored-place.js';

const USERNAME = valueFlag('username', 'NAME');

/** Attempts at a file that somebody changes between reading and writing. */
const ATTEMPTS = 5;

export const setPassword = documentCommand({
  name: 'set-password',
  words: [],
  flags: [USERNAME, FOR],
  async work({ configPath: path, dataFolder, inPlace, fileSystem, clock, log }, { values: given }, context) {
    const username = given.get(USERNAME.flag)?.[0] ?? null;
    if (username === '') throw new Error('--username: expected a name that is not empty');
    const read = () => readFileAt(path, context);
    // A problem of the file is said before anybody is asked.
    const { bytes } = await read();
    withOperator(bytes, { username, passwordHash: '' });
    const isStretched = wantsPbkdf2(given.get(FOR.flag)?.[0]) ?? isPbkdf2(passwordHashIn(bytes));
    const answer = await readPassword(context);
    if ('problem' in answer) throw new Error(answer.problem);
    const operator = { username, passwordHash: await passwordHashOf(answer.password, isStretched, context.random) };
    const versions = { fileSystem, clock, log, path, dataFolder, inPlace };
    for (let attempt = 1; ; attempt += 1) {
      const target = await read();
      try {
        await rewriteFile(versions, target, withOperator(target.bytes, operator), { forever: false });
        break;
      } catch (error) {
        if (!(error instanceof TargetChangedError) || attempt === ATTEMPTS) throw error;
      }
    }
    context.output.line(`Wrote the new password's hash into ${path}.`);
    context.output.line(
      'Where a Keyway serves it, every session ends within a second: sign in again. A server reads it at its next start.',
    );
    context.output.line(`What the file was is kept: keyway config list --config ${shellWord(path)}`);
  },
  help: (settings) => `Usage: keyway set-password [--config FILE] [--username NAME] [--for VERSION]

Writes the hash of a new password for the panel into a configuration file, as its password_hash. On a
terminal the password is asked for twice and not shown. Otherwise one line of standard input is it.

Everything else in the file stays as it is, and what the file was is kept. A Keyway that serves the
file ends every session.

${settings}
  --username NAME  Writes the name to sign in with, too. Default: the one in the file.
  --for VERSION    The server that reads it: PBKDF2 from 0.4.7 on, SHA-256 before. Default: SHA-256,
                   which all of them read, unless the file holds PBKDF2.

  keyway set-password --config server.jsonc < password.txt`,
});

async function readFileAt(path: string, { fileSystem }: CommandContext): Promise<TargetFile> {
  try {
    return await readTarget(fileSystem, path);
  } catch (error) {
    throw new Error(`${path} cannot be read: ${failureWords(error)}`, { cause: error });
  }
}
