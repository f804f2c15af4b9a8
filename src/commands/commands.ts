import type { CommandGroup } from './command.js';

/** Every command, in the groups and the order of the help text. */
export const COMMAND_GROUPS: readonly CommandGroup[] = [
  {
    heading: 'Serve',
    commands: [
      { name: 'serve', summary: 'start the gateway', load: async () => (await import('./serve.js')).serve },
      {
        name: 'start',
        summary: 'serve ./keyway.jsonc, written first when it is missing',
        load: async () => (await import('./start.js')).start,
      },
      {
        name: 'init',
        summary: 'write a commented starter configuration file',
        load: async () => (await import('./init.js')).init,
      },
      {
        name: 'install-service',
        summary: 'print a systemd unit for serving with given settings',
        load: async () => (await import('./service/install-service.js')).installService,
      },
    ],
  },
  {
    heading: 'Keys, counters and passwords',
    commands: [
      {
        name: 'keys list',
        summary: 'list keys, of a file or a running server',
        load: async () => (await import('./keys/list.js')).keysList,
      },
      { name: 'keys add', summary: 'add keys', load: async () => (await import('./keys/change.js')).keysAdd },
      {
        name: 'keys set',
        summary: 'give keys another name or limit',
        load: async () => (await import('./keys/change.js')).keysSet,
      },
      { name: 'keys remove', summary: 'remove keys', load: async () => (await import('./keys/change.js')).keysRemove },
      {
        name: 'keys reset',
        summary: 'set the traffic of keys to zero',
        load: async () => (await import('./keys/change.js')).keysReset,
      },
      {
        name: 'keys link',
        summary: 'print the share link of a key, or its QR code',
        load: async () => (await import('./keys/link.js')).keysLink,
      },
      {
        name: 'keys import',
        summary: 'take keys over from a table',
        load: async () => (await import('./keys/transfer.js')).keysImport,
      },
      {
        name: 'keys export',
        summary: 'write keys as a table',
        load: async () => (await import('./keys/transfer.js')).keysExport,
      },
      {
        name: 'counters export',
        summary: 'print the stored counters as JSON lines',
        load: async () => (await import('./counters.js')).countersExport,
      },
      {
        name: 'counters import',
        summary: 'take counters over from JSON lines',
        load: async () => (await import('./counters.js')).countersImport,
      },
      {
        name: 'set-password',
        summary: 'write a new password for the panel into a configuration file',
        load: async () => (await import('./set-password.js')).setPassword,
      },
      {
        name: 'hash-password',
        summary: 'read a password, print its password_hash',
        load: async () => (await import('./hash-password.js')).hashPassword,
      },
    ],
  },
  {
    heading: 'The configuration file and what stands beside it',
    commands: [
      {
        name: 'config list',
        summary: 'list the kept versions of the configuration file',
        load: async () => (await import('./config/config.js')).configList,
      },
      {
        name: 'config restore',
        summary: 'bring a kept version of the configuration file back',
        load: async () => (await import('./config/config.js')).configRestore,
      },
      {
        name: 'config check',
        summary: 'say what stands in a configuration file, and what each server line reads of it',
        load: async () => (await import('./config/check.js')).configCheck,
      },
      {
        name: 'config adopt',
        summary: "take keys over that a server's own API has left in a root access_keys",
        load: async () => (await import('./config/adopt.js')).configAdopt,
      },
      {
        name: 'config convert',
        summary: 'convert a configuration file to the other layout',
        load: async () => (await import('./config/convert.js')).configConvert,
      },
      {
        name: 'backup',
        summary: 'write configuration file, counters and remembered reports as one state',
        load: async () => (await import('./backup.js')).backup,
      },
      {
        name: 'restore',
        summary: 'bring such a state back, also while serving',
        load: async () => (await import('./backup.js')).restore,
      },
      {
        name: 'database migrate',
        summary: 'make or bring up to date the schema of a shared database',
        load: async () => (await import('./database.js')).databaseMigrate,
      },
      {
        name: 'database import',
        summary: 'take a configuration file and its counters over into a database',
        load: async () => (await import('./database.js')).databaseImport,
      },
      {
        name: 'database export',
        summary: 'write what a database holds as a configuration file and its counters',
        load: async () => (await import('./database.js')).databaseExport,
      },
    ],
  },
  {
    heading: 'Other servers: record, play, compare',
    commands: [
      {
        name: 'replay',
        summary: 'play recorded scenarios on a server, or on an embedded core',
        load: async () => (await import('./replay/replay.js')).replay,
      },
      {
        name: 'record',
        summary: 'write what passes between clients and a server as scenarios',
        load: async () => (await import('./replay/record.js')).record,
      },
      {
        name: 'compare',
        summary: 'play scenarios on two servers and show where they differ',
        load: async () => (await import('./replay/compare.js')).compare,
      },
      {
        name: 'identify',
        summary: 'say which line a running server speaks, by reads alone',
        load: async () => (await import('./replay/identify.js')).identify,
      },
    ],
  },
  {
    heading: 'Look up',
    commands: [
      {
        name: 'revisions',
        summary: 'list the revisions and the server versions that speak them',
        load: async () => (await import('./revisions.js')).revisions,
      },
      {
        name: 'completion',
        summary: 'print what completes command lines in bash, zsh or fish',
        load: async () => (await import('./completion/completion.js')).completion,
      },
      {
        name: 'openapi',
        summary: "print a revision's OpenAPI document",
        load: async () => (await import('./openapi.js')).openapi,
      },
    ],
  },
];

export const COMMANDS = COMMAND_GROUPS.flatMap(({ commands }) => commands);
