import { connect } from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { REVISIONS } from '../../../revisions/all.js';
import { commandRevision, resolveRevision } from '../../../revisions/index.js';
import type { Caller } from '../../client/call.js';
import { createCaller } from '../../client/caller.js';
import { createRunningServer } from '../../client/running-server.js';
import type { UpstreamServer } from '../../client/server.js';
import type { TargetCredentials } from '../../client/signed-in-caller.js';
import type { AskedKeys } from '../../core/keys/types.js';
import { withBulkKey } from '../../homes/upstream/bulk-key.js';
import { isMissing } from '../../platform/presence.js';
import type { HomePlace } from '../../settings/home.js';
import { withoutOuterSlashes } from '../../wire/text-ends.js';
import type { Revision } from '../../wire/traits/revision.js';
import { type FileServer, takesPlainKeysAlone } from '../../wire/traits/server-file.js';
import type { CommandContext } from '../command.js';
import { complainingLog } from '../complaining-log.js';
import { type OwnCall, openOwnCalls } from '../own-call.js';
import type { BaseUrl } from '../replay/settings.js';
import { servingSocket } from '../serving-socket.js';

/** A place of keys, besides its server. */
export interface KeyPlace {
  /** Calls of Keyway's own interface; null for a server at an address. */
  readonly own: OwnCall | null;
  /** Keeps what the configuration is now as a version, where the place keeps any. */
  keepVersion(): Promise<void>;
}

/** A place of keys, reached as a running server is, whatever holds it. */
export interface KeyHome extends KeyPlace {
  readonly server: UpstreamServer;
  close(): Promise<void>;
}

/** A running server of any line. */
export interface TargetPlace extends BaseUrl {
  /** Null to find out. */
  readonly revision: Revision | null;
  readonly credentials: TargetCredentials;
  /** Certificates (PEM) that are trusted instead of the system's. */
  readonly ca?: Buffer;
}

/** Milliseconds in which a Keyway on this machine answers: a list of a million keys takes its time. */
const TIMEOUT = 120_000;
const NOBODY: TargetCredentials = { token: null, operator: null };

/** Opens the server at an address. */
export function openTarget({ webpath, ...others }: TargetPlace, context: CommandContext): KeyHome {
  const place = { ...others, webpath: withoutOuterSlashes(webpath) };
  return homeOver(withBulkKey(createServer(place, context), context));
}

type ServerPlace = Omit<TargetPlace, 'webpath'> & { readonly webpath: string; readonly caller?: Caller };

function createServer(place: ServerPlace, context: CommandContext): UpstreamServer {
  const lines = { all: REVISIONS, resolve: resolveRevision };
  return createRunningServer({ ...place, lines, clock: context.clock, log: QUIET });
}

/** Failures are said by the call that they happen to. */
const QUIET = { debug() {}, info() {}, warn() {}, error() {} };

function homeOver(server: UpstreamServer): KeyHome {
  return { server, own: null, keepVersion: async () => undefined, close: async () => server.close() };
}

/** The home behind a Keyway to which `open` connects. */
function homeAt(
  open: () => Duplex,
  home: HomePlace,
  context: CommandContext,
  closeBeside: () => Promise<void> = async () => undefined,
): KeyHome {
  const server = serverAt(open, context);
  const own = openOwnCalls(open);
  return {
    server,
    own: own.call,
    async keepVersion() {
      const { versionsOf } = await import('../../gateway/homes/versions.js');
      const { openReplacements } = await import('../replacements.js');
      await versionsOf(home, { ...context, openReplacements, log: complainingLog(context) })?.keep();
    },
    async close() {
      server.close();
      own.close();
      await closeBeside();
    },
  };
}

function serverAt(open: () => Duplex, context: CommandContext): UpstreamServer {
  const caller = createCaller({ origin: 'http://localhost', connect: open, timeoutMilliseconds: TIMEOUT });
  const place = {
    origin: 'http://localhost',
    webpath: '',
    revision: commandRevision(),
    credentials: NOBODY,
    caller,
  };
  return createServer(place, context);
}

/**
 * Opens the home of the state through the Keyway that serves it, where it listens for commands, else by itself, for as long as the
 * command takes; a database for the keys that are asked for alone. Rejects with an `Error` for people.
 */
export async function openState(
  home: HomePlace,
  context: CommandContext,
  asked: AskedKeys | null = null,
): Promise<KeyHome> {
  if (!home.keepsKeys) throw new Error('expected a configuration file, --target or --database');
  const socketPath = await servingSocket(home, context.fileSystem);
  if (socketPath !== null) return homeAt(() => connect(socketPath), home, context);
  await expectDocuments(home, context);
  return openByItself(home, context, asked);
}

/** Rejects, with words for people, where the configuration file that a command was given is not there. */
export async function expectDocuments(
  { documents }: Pick<HomePlace, 'documents'>,
  { fileSystem }: Pick<CommandContext, 'fileSystem'>,
): Promise<void> {
  for (const path of documents)
    if (await isMissing(fileSystem, path))
      throw new Error(`there is no configuration file ${path}: name it with --config`);
}

/** Any line's servers may read the file; those of the lines that take no names would forbid these to all others. */
const NAMING_SERVERS: readonly FileServer[] = REVISIONS.flatMap(({ file, reportedVersion: version }) =>
  takesPlainKeysAlone(file) ? [] : [{ file, version }],
);

async function openByItself(home: HomePlace, context: CommandContext, asked: AskedKeys | null): Promise<KeyHome> {
  // The serving code is not loaded for a command that asks a server.
  const { composeGateway } = await import('../../gateway/compose.js');
  const { fileSystem, clock, random } = context;
  const revision = commandRevision();
  const gateway = await composeGateway({
    mounts: [{ revision, version: revision.reportedVersion }],
    listener: { webpath: '' },
    home,
    fileServers: NAMING_SERVERS,
    fileSystem,
    clock,
    random,
    log: complainingLog(context),
    givesUpUnsaved: true,
    asked,
  });
  const app = gateway.control();
  const close = async () => {
    await app.close();
    await gateway.app.close();
  };
  try {
    await app.ready();
    return homeAt(() => connectWithin(app), home, context, close);
  } catch (error) {
    await close();
    throw error;
  }
}

/** Connects to an app of this process that listens nowhere. */
function connectWithin({ server }: FastifyInstance): Duplex {
  const [near, far] = duplexPair();
  server.emit('connection', far);
  return near;
}
