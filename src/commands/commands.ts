import type { CommandGroup, ListedCommand } from './command.js';

/** What the groups of the help text are called, in its order. */
export const COMMAND_GROUPS: Readonly<Record<CommandGroup, string>> = {
  serve: 'Serve',
  keys: 'Keys, counters and passwords',
  file: 'The configuration file and what stands beside it',
  replay: 'Other servers: record, play, compare',
  look: 'Look up',
};

/** Every command, in the order of the help text. */
export const COMMANDS: readonly ListedCommand[] = [
  { name: 'serve', group: 'serve', summary: 'start the gateway', load: async () => (await import('./serve.js')).serve },
  {
    name: 'start',
    group: 'serve',
    summary: 'serve ./keyway.jsonc, written first when it is missing',
    load: async () => (await import('./start.js')).start,
  },
  {
    name: 'init',
    group: 'serve',
    summary: 'write a commented starter configuration file',
    load: async () => (await import('./init.js')).init,
  },
  {
    name: 'install-service',
    group: 'serve',
    summary: 'print a systemd unit for serving with given settings',
    load: async () => (await import('./service/install-service.js')).installService,
  },
  {
    name: 'keys list',
    group: 'keys',
    summary: 'list keys, of a file or a running server',
    load: async () => (await import('./keys/list.js')).keysList,
  },
  {
    name: 'keys add',
    group: 'keys',
    summary: 'add keys',
    load: async () => (await import('./keys/change.js')).keysAdd,
  },
  {
    name: 'keys set',
    group: 'keys',
    summary: 'give keys another name or limit',
    load: async () => (await import('./keys/change.js')).keysSet,
  },
  {
    name: 'keys remove',
    group: 'keys',
    summary: 'remove keys',
    load: async () => (await import('./keys/change.js')).keysRemove,
  },
  {
    name: 'keys reset',
    group: 'keys',
    summary: 'set the traffic of keys to zero',
    load: async () => (await import('./keys/change.js')).keysReset,
  },
  {
    name: 'keys link',
    group: 'keys',
    summary: 'print the share link of a key, or its QR code',
    load: async () => (await import('./keys/link.js')).keysLink,
  },
  {
    name: 'keys import',
    group: 'keys',
    summary: 'take keys over from a table',
    load: async () => (await import('./keys/transfer.js')).keysImport,
  },
  {
    name: 'keys export',
    group: 'keys',
    summary: 'write keys as a table',
    load: async () => (await import('./keys/transfer.js')).keysExport,
  },
  {
    name: 'counters export',
    group: 'keys',
    summary: 'print the stored counters as JSON lines',
    load: async () => (await import('./counters.js')).countersExport,
  },
  {
    name: 'counters import',
    group: 'keys',
    summary: 'take counters over from JSON lines',
    load: async () => (await import('./counters.js')).countersImport,
  },
  {
    name: 'set-password',
    group: 'keys',
    summary: 'write a new password for the panel into a configuration file',
    load: async () => (await import('./set-password.js')).setPassword,
  },
  {
    name: 'hash-password',
    group: 'keys',
    summary: 'read a password, print its password_hash',
    load: async () => (await import('./hash-password.js')).hashPassword,
  },
  {
    name: 'config list',
    group: 'file',
    summary: 'list the kept versions of the configuration file',
    load: async () => (await import('./config/config.js')).configList,
  },
  {
    name: 'config restore',
    group: 'file',
    summary: 'bring a kept version of the configuration file back',
    load: async () => (await import('./config/config.js')).configRestore,
  },
  {
    name: 'config check',
    group: 'file',
    summary: 'say what stands in a configuration file, and what each server line reads of it',
    load: async () => (await import('./config/check.js')).configCheck,
  },
  {
    name: 'config adopt',
    group: 'file',
    summary: "take keys over that a server's own API has left in a root access_keys",
    load: async () => (await import('./config/adopt.js')).configAdopt,
  },
  {
    name: 'config convert',
    group: 'file',
    summary: 'convert a configuration file to the other layout',
    load: async () => (await import('./config/convert.js')).configConvert,
  },
  {
    name: 'backup',
    group: 'file',
    summary: 'write configuration file, counters and remembered reports as one state',
    load: async () => (await import('./backup.js')).backup,
  },
  {
    name: 'restore',
    group: 'file',
    summary: 'bring such a state back, also while serving',
    load: async () => (await import('./backup.js')).restore,
  },
  {
    name: 'database migrate',
    group: 'file',
    summary: 'make or bring up to date the schema of a shared database',
    load: async () => (await import('./database.js')).databaseMigrate,
  },
  {
    name: 'database import',
    group: 'file',
    summary: 'take a configuration file and its counters over into a database',
    load: async () => (await import('./database.js')).databaseImport,
  },
  {
    name: 'database export',
    group: 'file',
    summary: 'write what a database holds as a configuration file and its counters',
    load: async () => (await import('./database.js')).databaseExport,
  },
  {
    name: 'replay',
    group: 'replay',
    summary: 'play recorded scenarios on a server, or on an embedded core',
    load: async () => (await import('./replay/replay.js')).replay,
  },
  {
    name: 'record',
    group: 'replay',
    summary: 'write what passes between clients and a server as scenarios',
    load: async () => (await import('./replay/record.js')).record,
  },
  {
    name: 'compare',
    group: 'replay',
    summary: 'play scenarios on two servers and show where they differ',
    load: async () => (await import('./replay/compare.js')).compare,
  },
  {
    name: 'identify',
    group: 'replay',
    summary: 'say which line a running server speaks, by reads alone',
    load: async () => (await import('./replay/identify.js')).identify,
  },
  {
    name: 'revisions',
    group: 'look',
    summary: 'list the revisions and the server versions that speak them',
    load: async () => (await import('./revisions.js')).revisions,
  },
  {
    name: 'completion',
    group: 'look',
    summary: 'print what completes command lines in bash, zsh or fish',
    load: async () => (await import('./completion/completion.js')).completion,
  },
  {
    name: 'openapi',
    group: 'look',
    summary: "print a revision's OpenAPI document",
    load: async () => (await import('./openapi.js')).openapi,
  },
];
