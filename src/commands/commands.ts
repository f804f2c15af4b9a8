import type { ListedCommand } from './command.js';

/** Every command, in the order of the help text. */
export const COMMANDS: readonly ListedCommand[] = [
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
    name: 'replay',
    summary: 'play recorded scenarios on a server, or on an embedded core',
    load: async () => (await import('./replay/replay.js')).replay,
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
  {
    name: 'revisions',
    summary: 'list the revisions and the server versions that speak them',
    load: async () => (await import('./revisions.js')).revisions,
  },
  {
    name: 'install-service',
    summary: 'print a systemd unit for serving with given settings',
    load: async () => (await import('./service/install-service.js')).installService,
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
  {
    name: 'hash-password',
    summary: 'read a password, print its password_hash',
    load: async () => (await import('./hash-password.js')).hashPassword,
  },
];
