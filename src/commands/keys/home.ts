import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { REVISIONS } from '../../../revisions/all.js';
import { commandRevision, resolveRevision } from '../../../revisions/index.js';
import type { Caller } from '../../client/call.js';
import { createCaller } from '../../client/caller.js';
import { createRunningServer } from '../../client/running-server.js';
import type { UpstreamServer } from '../../client/server.js';
import type { TargetCredentials } from '../../client/signed-in-caller.js';
import { withBulkKey } from '../../homes/upstream/bulk-key.js';
import { isMissing } from '../../platform/presence.js';
import { controlSocketIn, listenForCommands } from '../../serve/control.js';
import type { HomePlace } from '../../settings/home.js';
import type { Revision } from '../../wire/traits/revision.js';
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
  const place = { ...others, webpath: webpath.replace(/^\/+|\/+$/g, '') };
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

/** The home behind the socket of a Keyway. */
function homeAt(
  socketPath: string,
  home: HomePlace,
  context: CommandContext,
  closeBeside: () => Promise<void> = async () => undefined,
): KeyHome {
  const server = serverAt(socketPath, context);
  const own = openOwnCalls(socketPath);
  return {
    server,
    own: own.call,
    async keepVersion() {
      const { versionsOf } = await import('../../gateway/homes/versions.js');
      await versionsOf(home, { ...context, log: complainingLog(context) })?.keep();
    },
    async close() {
      server.close();
      own.close();
      await closeBeside();
    },
  };
}

function serverAt(socketPath: string, context: CommandContext): UpstreamServer {
  const caller = createCaller({ origin: 'http://localhost', socketPath, timeoutMilliseconds: TIMEOUT });
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
 * command takes. Rejects with an `Error` for people.
 */
export async function openState(home: HomePlace, context: CommandContext): Promise<KeyHome> {
  if (!home.keepsKeys) throw new Error('expected a configuration file, --target or --database');
  const socketPath = await servingSocket(home, context.fileSystem);
  if (socketPath !== null) return homeAt(socketPath, home, context);
  await expectDocuments(home, context);
  return openByItself(home, context);
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

async function openByItself(home: HomePlace, context: CommandContext): Promise<KeyHome> {
  // The serving code is not loaded for a command that asks a server.
  const { composeGateway } = await import('../../gateway/compose.js');
  const { fileSystem, clock, random } = context;
  const revision = commandRevision();
  const gateway = await composeGateway({
    mounts: [{ revision, version: revision.reportedVersion }],
    listener: { webpath: '' },
    home,
    fileSystem,
    clock,
    random,
    log: complainingLog(context),
    givesUpUnsaved: true,
  });
  // A short path in a folder of its own: a socket takes no long one.
  const folder = await mkdtemp(join(tmpdir(), 'keyway-'));
  const close = async () => {
    await gateway.app.close();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const own = controlSocketIn(folder);
    await listenForCommands(gateway, own, complainingLog(context));
    return homeAt(own, home, context, close);
  } catch (error) {
    await close();
    throw error;
  }
}
