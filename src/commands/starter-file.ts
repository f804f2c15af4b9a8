import { dirname, join, parse } from 'node:path';
import { sha256Hash } from '../core/password.js';
import type { RandomPort } from '../core/ports.js';
import type { CommandContext } from './command.js';
import { refusePresent, writeNew } from './new-file.js';

/** Everything generated that a starter file holds, and the password that it does not. */
interface StarterSecrets {
  readonly accessKey: string;
  readonly token: string;
  readonly webpath: string;
  readonly password: string;
}

/** Crockford's base 32 in lower case: no letter that is taken for another. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const PASSWORD_GROUPS = 4;
const GROUP_LENGTH = 6;

/** 120 random bits, in groups that can be read out. */
function createPassword(random: RandomPort): string {
  const bytes = random.bytes(PASSWORD_GROUPS * GROUP_LENGTH);
  const letters = Array.from(bytes, (byte) => ALPHABET[byte % ALPHABET.length] ?? '');
  const groups = Array.from({ length: PASSWORD_GROUPS }, (_, group) => {
    return letters.slice(group * GROUP_LENGTH, (group + 1) * GROUP_LENGTH).join('');
  });
  return groups.join('-');
}

function createStarterSecrets(random: RandomPort): StarterSecrets {
  return {
    accessKey: random.bytes(16).toString('hex'),
    token: random.bytes(24).toString('hex'),
    webpath: random.bytes(8).toString('hex'),
    password: createPassword(random),
  };
}

/** The text of a commented starter configuration file, in the layout with `access_keys`. */
function starterFile({ accessKey, token, webpath, password }: StarterSecrets): string {
  return `{
  // What this file configures. Changes to it are live only while this says "server".
  "mode": "server",

  // Where the tunnel server listens for clients. Share links and client configurations name this
  // address, unless --server-host and --server-port say another: no client reaches 0.0.0.0.
  "listen": "0.0.0.0:50000",

  // The keys that admit clients: a string, or an object with "access_key", "name" and "limit_bytes".
  // Keys made in the panel or through the API are written here; comments and all else stay as they are.
  "access_keys": [
    { "access_key": "${accessKey}", "name": "First key" }
  ],

  // The management API and its panel.
  "api": {
    // With false "keyway serve" says so and does not listen.
    "enabled": true,

    // Host and port to listen on. Keep it on loopback, behind a proxy with TLS, or reach it through a tunnel.
    "bind": "127.0.0.1:9090",

    // For programs: the header "Authorization: Bearer <token>". Without this member there is no such token.
    "token": "${token}",

    // The panel stands at http://<bind>/<webpath>/ and the API below it at /<webpath>/api/.
    "webpath": "${webpath}",

    // For people: the login of the panel.
    "username": "admin",

    // The SHA-256 of the password. For another password: keyway set-password
    "password_hash": "${sha256Hash(password)}"
  }
}
`;
}

/** The generated password: itself, to be shown on a terminal and nowhere else, or the file that it stands in. */
export type StarterPassword = { readonly shown: string } | { readonly file: string };

/**
 * Writes the starter file, mode 0600, durably. Without a terminal the password goes into a file next to it,
 * `keyway.password` for `keyway.jsonc`. Never overwrites: rejects with an `Error` for people, having written nothing, if
 * one of them exists.
 */
export async function writeStarterFile(
  path: string,
  { fileSystem, random, output }: Pick<CommandContext, 'fileSystem' | 'random' | 'output'>,
): Promise<StarterPassword> {
  const secrets = createStarterSecrets(random);
  const { password } = secrets;
  if (output.isTerminal) {
    await writeNew(fileSystem, path, [Buffer.from(starterFile(secrets))]);
    return { shown: password };
  }
  const file = join(dirname(path), `${parse(path).name}.password`);
  await refusePresent(fileSystem, path);
  // The password first: a file without its password would be of no use after a crash between the two.
  await writeNew(fileSystem, file, [Buffer.from(`${password}\n`)]);
  try {
    await writeNew(fileSystem, path, [Buffer.from(starterFile(secrets))]);
  } catch (error) {
    await fileSystem.remove(file);
    throw error;
  }
  return { file };
}
