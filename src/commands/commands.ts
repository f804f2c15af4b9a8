import type { Command, CommandGroup, ListedCommand } from './command.js';

/** Every command, in the groups and the order of the help text. */
export const COMMAND_GROUPS: readonly CommandGroup[] = [
  {
    heading: 'Serve',
    commands: [
      listed('serve', 'start the gateway', () => import('./serve.js')),
      listed(
        'start',
        'serve ./keyway.jsonc, written first, with comments, when it is missing',
        () => import('./start.js'),
      ),
      listed(
        'install-service',
        'print a systemd unit for serving with given settings',
        () => import('./service/install-service.js'),
      ),
    ],
  },
  {
    heading: 'Keys, counters and passwords',
    commands: [
      listed('keys list', 'list keys, of a file or a running server', () => import('./keys/list.js')),
      listed('keys add', 'add keys', () => import('./keys/change.js')),
      listed('keys set', 'give keys another name or limit', () => import('./keys/change.js')),
      listed('keys remove', 'remove keys', () => import('./keys/change.js')),
      listed('keys reset', 'set the traffic of keys to zero', () => import('./keys/change.js')),
      listed('keys rotate', 'give a key a new secret', () => import('./keys/rotate.js')),
      listed('keys link', 'print the share link of a key, or its QR code', () => import('./keys/link.js')),
      listed('keys import', 'take keys over from a table', () => import('./keys/transfer.js')),
      listed('keys export', 'write keys as a table', () => import('./keys/transfer.js')),
      listed('token add', 'make a named token, which may do what a preset allows', () => import('./token.js')),
      listed('token list', 'list the named tokens', () => import('./token.js')),
      listed('token remove', 'end a named token at once', () => import('./token.js')),
      listed('usage', 'say who still uses what, by day', () => import('./usage.js')),
      listed('counters export', 'print the stored counters as JSON lines', () => import('./counters.js')),
      listed('counters import', 'take counters over from JSON lines', () => import('./counters.js')),
      listed(
        'set-password',
        'write a new password for the panel into a configuration file',
        () => import('./set-password.js'),
      ),
      listed('hash-password', 'read a password, print its password_hash', () => import('./hash-password.js')),
    ],
  },
  {
    heading: 'The configuration file and its folder',
    commands: [
      listed('config list', 'list the kept versions of the configuration file', () => import('./config/config.js')),
      listed(
        'config restore',
        'bring a kept version of the configuration file back',
        () => import('./config/config.js'),
      ),
      listed(
        'config check',
        'say what stands in a configuration file, and what each server line reads of it',
        () => import('./config/check.js'),
      ),
      listed(
        'config adopt',
        "take keys over that a server's own API has left in a root access_keys",
        () => import('./config/adopt.js'),
      ),
      listed('config convert', 'convert a configuration file to the other layout', () => import('./config/convert.js')),
      listed(
        'backup',
        'write configuration file, counters and remembered reports as one state',
        () => import('./backup.js'),
      ),
      listed('restore', 'bring such a state back, also while serving', () => import('./backup.js')),
      listed(
        'database migrate',
        'make or bring up to date the schema of a shared database',
        () => import('./database.js'),
      ),
      listed(
        'database import',
        'take a configuration file and its counters over into a database',
        () => import('./database.js'),
      ),
      listed(
        'database export',
        'write what a database holds as a configuration file and its counters',
        () => import('./database.js'),
      ),
    ],
  },
  {
    heading: 'Other servers: record, play, compare',
    commands: [
      listed(
        'replay',
        'play recorded scenarios on a server, or on an embedded core',
        () => import('./replay/replay.js'),
      ),
      listed(
        'record',
        'write what passes between clients and a server as scenarios',
        () => import('./replay/record.js'),
      ),
      listed(
        'compare',
        'play scenarios on two servers and show where they differ',
        () => import('./replay/compare.js'),
      ),
      listed(
        'identify',
        'say which line a running server speaks, by reads alone',
        () => import('./replay/identify.js'),
      ),
    ],
  },
  {
    heading: 'Look up',
    commands: [
      listed('revisions', 'list the revisions and the server versions that speak them', () => import('./revisions.js')),
      listed(
        'completion',
        'print what completes command lines in bash, zsh or fish',
        () => import('./completion/completion.js'),
      ),
      listed('openapi', "print a revision's OpenAPI document", () => import('./openapi.js')),
    ],
  },
];

export const COMMANDS = COMMAND_GROUPS.flatMap(({ commands }) => commands);

/** A command whose module exports it, under any name. */
function listed(name: string, summary: string, module: () => Promise<object>): ListedCommand {
  const isIt = (each: unknown): each is Command =>
    typeof each === 'object' && each !== null && 'run' in each && 'name' in each && each.name === name;
  return {
    name,
    summary,
    async load() {
      const command = Object.values(await module()).find(isIt);
      if (command === undefined) throw new Error(`its module exports no command ${name}`);
      return command;
    },
  };
}
