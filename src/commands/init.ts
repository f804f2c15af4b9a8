import { dirname, join, parse, resolve } from 'node:path';
import type { FileSystemPort } from '../core/ports.js';
import { failureCode, failureWords } from '../platform/failure-words.js';
import { isMissing } from '../platform/presence.js';
import type { CommandContext } from './command.js';
import { defineCommand, NO_HOME } from './define-command.js';
import { createStarterSecrets, starterFile } from './starter-file.js';

const PRIVATE = 0o600;

/** Failures that come after the file was made, while it is being filled. */
const HALF_WRITTEN = new Set(['ENOSPC', 'EDQUOT', 'EIO']);

/** The starter file that `writeStarterFile` made. */
export interface Starter {
  readonly path: string;
  /** Either the password itself, to be shown on a terminal and nowhere else, or the file that it stands in. */
  readonly password: { readonly shown: string } | { readonly file: string };
}

/** The path of the generated password when there is no terminal to show it on: `keyway.password` for `keyway.jsonc`. */
export function passwordFileOf(path: string): string {
  return join(dirname(path), `${parse(path).name}.password`);
}

/**
 * Writes the starter file, mode 0600, durably. Never overwrites: rejects with an `Error` for people when the file, or the
 * password file that is to go beside it, exists; then nothing was written.
 */
export async function writeStarterFile(
  path: string,
  { fileSystem, random, output }: Pick<CommandContext, 'fileSystem' | 'random' | 'output'>,
): Promise<Starter> {
  const secrets = createStarterSecrets(random);
  const { password } = secrets;
  if (output.isTerminal) {
    await createDurably(fileSystem, path, starterFile(secrets));
    return { path, password: { shown: password } };
  }
  const file = passwordFileOf(path);
  await refuseExisting(fileSystem, path);
  // The password first: a file without its password would be of no use after a crash between the two.
  await createDurably(fileSystem, file, `${password}\n`);
  try {
    await createDurably(fileSystem, path, starterFile(secrets));
  } catch (error) {
    await fileSystem.remove(file);
    throw error;
  }
  return { path, password: { file } };
}

async function refuseExisting(fileSystem: FileSystemPort, path: string): Promise<void> {
  if (!(await isMissing(fileSystem, path))) throw inTheWay(path);
}

function inTheWay(path: string): Error {
  return new Error(`${path} exists already and is never overwritten: name another file, or move this one away`);
}

async function createDurably(fileSystem: FileSystemPort, path: string, text: string): Promise<void> {
  try {
    await fileSystem.create(path, Buffer.from(text), PRIVATE);
  } catch (error) {
    const code = failureCode(error);
    if (code === 'EEXIST') throw inTheWay(path);
    if (code !== null && HALF_WRITTEN.has(code)) await fileSystem.remove(path);
    throw new Error(`${path} cannot be written: ${failureWords(error)}`, { cause: error });
  }
  await fileSystem.sync(path);
  await fileSystem.syncFolder(dirname(path));
}

export function passwordSentence({ password }: Starter): string {
  if ('shown' in password) return `The password of the user admin, shown this once: ${password.shown}`;
  return `The password of the user admin stands in ${password.file} (readable by you alone)`;
}

export const init = defineCommand<string | undefined, null>({
  name: 'init',
  offered: 'paths',
  home: NO_HOME,
  ask({ problems }, { words }) {
    if (words.length > 1) problems.push('expected one file at most');
    return words[0];
  },
  async work(_home, named, context) {
    const { folder, output } = context;
    const starter = await writeStarterFile(resolve(folder, named || 'keyway.jsonc'), context);
    output.line(`Wrote ${starter.path}`);
    output.line(passwordSentence(starter));
    output.line(`Next: keyway serve${named === undefined ? '' : ` --config ${named}`}`);
    return 0;
  },
  help: () => `Usage: keyway init [FILE]

Writes a commented starter configuration file, by default ./keyway.jsonc, with one access key, an
API token, a web path and a password, all generated. The file is readable by its owner alone and
never overwrites another.

On a terminal the password is shown, once. Otherwise it is written to a file beside it of mode
0600, keyway.password for keyway.jsonc, whose path is printed.

  keyway init
  keyway serve`,
});
