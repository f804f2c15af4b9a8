import { withOperator } from '../document/operator-change.js';
import { readTarget, type TargetFile } from '../files/write-file.js';
import { ContentChangedError, contentDigest } from '../homes/file/configuration/whole-content.js';
import { failureWords } from '../platform/failure-words.js';
import { valueFlag } from '../settings/flags.js';
import { fileHome } from '../settings/home.js';
import { shellWord } from '../settings/text.js';
import type { CommandContext } from './command.js';
import { operatorAsked, setDatabasePassword } from './database-password.js';
import { offerToEndDevices } from './device-tokens.js';
import { FOR } from './hash-password.js';
import { openReplacements } from './replacements.js';
import { documentCommand } from './stored-place.js';

const USERNAME = valueFlag('username', 'NAME');

/** Attempts at a file that somebody changes between reading and writing. */
const ATTEMPTS = 5;

export const setPassword = documentCommand({
  name: 'set-password',
  words: [],
  flags: [USERNAME, FOR],
  overDatabase: setDatabasePassword,
  async work(place, flags, context) {
    const { configPath: path, dataFolder, inPlace } = place;
    const read = () => readFileAt(path, context);
    const operator = await operatorAsked((await read()).bytes, flags, context);
    const replacements = await openReplacements(place);
    for (let attempt = 1; ; attempt += 1) {
      const present = (await read()).bytes;
      try {
        await replacements.putFile(withOperator(present, operator), { replaces: contentDigest(present) });
        break;
      } catch (error) {
        if (!(error instanceof ContentChangedError) || attempt === ATTEMPTS) throw error;
      }
    }
    context.output.line(`Wrote the new password's hash into ${path}.`);
    context.output.line(
      'Where a Keyway serves it, every session has ended: sign in again. A server reads it at its next start.',
    );
    context.output.line(`What the file was is kept: keyway config list --config ${shellWord(path)}`);
    await offerToEndDevices(fileHome(path, { dataDir: dataFolder, inPlace }), context);
  },
  help: (settings) => `Usage: keyway set-password [--config FILE | --database URL] [--username NAME] [--for VERSION]

Writes the hash of a new password for the panel into a configuration file, or into the configuration
that a database holds, as its password_hash. On a terminal the password is asked for twice and not
shown. Otherwise one line of standard input is it.

Everything else stays as it is, and what the configuration was is kept. A Keyway that serves it ends
every session. Devices with a token of their own are listed, and on a terminal you are asked whether
to end these, too.

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
