/** The facts that a unit is made of. Paths are absolute and have no control characters. */
export interface ServiceFacts {
  /** Keyway's own version. */
  readonly version: string;
  /** The command line, from the path of Node on. */
  readonly commandLine: readonly string[];
  /** Whom the service runs as; null for a user that exists only while it runs. */
  readonly user: string | null;
  /** The folders in which something is written. */
  readonly writable: readonly string[];
  /** Everything else that is read or run. */
  readonly readable: readonly string[];
  /** True for a service that listens on a port below 1024. */
  readonly needsLowPort: boolean;
}

/** One line of a section: a directive with its value, or a comment. */
type Line = readonly [directive: string, value: string] | string;

/** The state folder of a user that exists only while the service runs. */
export const STATE_FOLDER = '/var/lib/keyway';

/** Folders that a service sees only where something of it stands there. */
export const HOMES = ['/home', '/root', '/run/user'];
const TEMPORARY = ['/tmp', '/var/tmp'];
const RUNTIME = '/run/';

/** Tells whether a path is the folder, or stands below it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

/** A systemd unit for version 250 or later that serves with as few rights as Keyway can do with. */
export function serviceUnit(facts: ServiceFacts): string {
  const sections: readonly (readonly [string, readonly Line[]])[] = [
    ['Unit', UNIT],
    ['Service', [...running(facts), ...whom(facts), ...places(facts), ...capabilities(facts), ...RESTRICTIONS]],
    ['Install', [['WantedBy', 'multi-user.target']]],
  ];
  const texts = sections.map(([name, lines]) => [`[${name}]`, ...lines.map(lineText)].join('\n'));
  return [heading(facts), ...texts].join('\n\n');
}

function lineText(line: Line): string {
  return typeof line === 'string' ? `# ${line}` : `${line[0]}=${line[1]}`;
}

function heading({ version }: ServiceFacts): string {
  return `# Printed by "keyway install-service" of Keyway ${version}, for systemd 250 or later. As root, put it to
# /etc/systemd/system/keyway.service, then: systemctl daemon-reload && systemctl enable --now keyway`;
}

const UNIT: readonly Line[] = [
  ['Description', "Keyway, a gateway for an access-key server's management API"],
  ['Wants', 'network-online.target'],
  ['After', 'network-online.target'],
  ['StartLimitIntervalSec', '600'],
  ['StartLimitBurst', '20'],
];

function running({ commandLine: [program = '', ...words] }: ServiceFacts): readonly Line[] {
  return [
    ['ExecStart', [programWord(program), ...words.map(commandWord)].join(' \\\n  ')],
    ['ExecReload', '/bin/kill -HUP $MAINPID'],
    'Ready once everything listens. It speaks through systemd-notify, which is another process: hence "all".',
    ['Type', 'notify'],
    ['NotifyAccess', 'all'],
    'An event loop that stands still for so long is ended and started again.',
    ['WatchdogSec', '60'],
    ['Restart', 'on-failure'],
    ['RestartSec', '5'],
    'A wrong command line is not mended by starting again.',
    ['RestartPreventExitStatus', '2'],
    'Keyway gives clients 10 seconds to take the answers that were accepted.',
    ['TimeoutStopSec', '30'],
  ];
}

function whom({ user }: ServiceFacts): readonly Line[] {
  if (user !== null) return [['User', user]];
  return [
    'A user that exists only while the service runs; the folder is its own.',
    ['DynamicUser', 'yes'],
    ['StateDirectory', 'keyway'],
    ['StateDirectoryMode', '0700'],
  ];
}

function places(facts: ServiceFacts): readonly Line[] {
  const { user, writable, readable } = facts;
  const all = [...writable, ...readable];
  const within = (folders: readonly string[]) => all.some((path) => folders.some((folder) => isWithin(path, folder)));
  const runtime = writable.flatMap((path) => runtimeName(path) ?? []);
  const other = writable.filter(
    (path) => runtimeName(path) === null && !(user === null && isWithin(path, STATE_FOLDER)),
  );
  return [
    ['UMask', '0077'],
    ['ProtectSystem', 'strict'],
    ...(other.length === 0 ? [] : [writableLine(other)]),
    ...(runtime.length === 0 ? [] : [['RuntimeDirectory', runtime.join(' ')] as const]),
    within(HOMES) ? ['ProtectHome', 'read-only'] : ['ProtectHome', 'yes'],
    ...(within(TEMPORARY) ? ['No PrivateTmp: something that it needs is in a folder for temporary files.'] : []),
    ...(within(TEMPORARY) ? [] : [['PrivateTmp', 'yes'] as const]),
  ];
}

function writableLine(paths: readonly string[]): Line {
  return ['ReadWritePaths', paths.map(listWord).join(' ')];
}

/** The name of a folder directly in /run, which the service manager makes and removes; null for other paths. */
export function runtimeName(path: string): string | null {
  const name = path.startsWith(RUNTIME) ? path.slice(RUNTIME.length) : '';
  return /^[\w-]+$/.test(name) && name !== 'user' ? name : null;
}

function capabilities({ needsLowPort }: ServiceFacts): readonly Line[] {
  if (!needsLowPort) {
    return [
      ['CapabilityBoundingSet', ''],
      ['PrivateUsers', 'yes'],
    ];
  }
  return [
    'For a port below 1024. With PrivateUsers it would not count.',
    ['CapabilityBoundingSet', 'CAP_NET_BIND_SERVICE'],
    ['AmbientCapabilities', 'CAP_NET_BIND_SERVICE'],
  ];
}

const RESTRICTIONS: readonly Line[] = [
  ['NoNewPrivileges', 'yes'],
  ['PrivateDevices', 'yes'],
  ['ProtectClock', 'yes'],
  ['ProtectControlGroups', 'yes'],
  ['ProtectHostname', 'yes'],
  ['ProtectKernelLogs', 'yes'],
  ['ProtectKernelModules', 'yes'],
  ['ProtectKernelTunables', 'yes'],
  'No ProtectProc, no ProcSubset: /proc tells whether the process that locked the data folder still runs.',
  'AF_NETLINK lists the addresses of this machine when it listens on all of them.',
  ['RestrictAddressFamilies', 'AF_INET AF_INET6 AF_UNIX AF_NETLINK'],
  ['RestrictNamespaces', 'yes'],
  ['RestrictRealtime', 'yes'],
  ['RestrictSUIDSGID', 'yes'],
  ['LockPersonality', 'yes'],
  ['RemoveIPC', 'yes'],
  'No MemoryDenyWriteExecute: V8 compiles JavaScript into memory that it writes and then executes.',
  ['SystemCallArchitectures', 'native'],
  ['SystemCallFilter', '@system-service'],
  ['SystemCallFilter', '~@privileged @resources'],
  'The configuration file keeps its owner and group when it is replaced.',
  ['SystemCallFilter', '@chown'],
  ['SystemCallErrorNumber', 'EPERM'],
];

/** Words that systemd.syntax(7) takes as they are, in command lines and in lists of paths. */
const PLAIN = /^[\w@:/.,=+-]+$/;

const ESCAPES: Readonly<Record<string, string>> = { '"': '\\"', '\\': '\\\\', '%': '%%' };

/** One word of a list such as that of `ReadWritePaths=`: quoted where it must be, `%` doubled. It has no control characters. */
export function listWord(text: string): string {
  return PLAIN.test(text) ? text : `"${text.replaceAll(/["\\%]/g, (character) => ESCAPES[character] ?? character)}"`;
}

/** One word of a command line (systemd.service(5), "Command lines"): as in a list, and `$` doubled, which would be a variable. */
export function commandWord(text: string): string {
  return listWord(text).replaceAll('$', '$$$$');
}

/** The program of a command line, in which no variable is looked for. */
const programWord = listWord;
