import { REVISIONS } from '../../../revisions/all.js';
import { resolveRevision } from '../../../revisions/index.js';
import { createRunningServer } from '../../../src/client/running-server.js';
import type { Sent, UpstreamServer } from '../../../src/client/server.js';
import type { TargetCredentials } from '../../../src/client/signed-in-caller.js';
import type { LogPort } from '../../../src/core/ports.js';
import {
  openUpstreamBackend,
  type UpstreamBackend,
  type UpstreamBackendOptions,
} from '../../../src/homes/upstream/backend.js';
import { createFileSystem } from '../../../src/platform/file-system.js';
import { systemRandom } from '../../../src/platform/system-ports.js';
import { type OpenFront, UPSTREAM_CREDENTIALS } from './stage.js';

export interface FrontBackendOptions extends Omit<UpstreamBackendOptions, 'server' | 'random'> {
  /** Origin and web path. */
  readonly url: string;
  readonly credentials: TargetCredentials;
  /** How many times longer than measured a write of a key is taken to have been; 1 when left out. */
  readonly callFactor?: number;
}

/** Opens the state of a server at this URL. */
export function openFrontBackend(options: FrontBackendOptions): Promise<UpstreamBackend> {
  const server = withCallFactor(serverAt(options), options.callFactor ?? 1);
  return openUpstreamBackend({ ...options, server, random: systemRandom });
}

function withCallFactor(server: UpstreamServer, factor: number): UpstreamServer {
  const scaled = async (sent: Promise<Sent<void>>): Promise<Sent<void>> => {
    const { serverMilliseconds, ...rest } = await sent;
    return { ...rest, serverMilliseconds: serverMilliseconds * factor };
  };
  return {
    ...server,
    createUser: (...of) => scaled(server.createUser(...of)),
    updateUser: (...of) => scaled(server.updateUser(...of)),
    setLimit: (...of) => scaled(server.setLimit(...of)),
    deleteUser: (...of) => scaled(server.deleteUser(...of)),
    resetUser: (...of) => scaled(server.resetUser(...of)),
  };
}

function serverAt({ url, credentials, ...options }: FrontBackendOptions): UpstreamServer {
  const { origin, pathname } = new URL(url);
  return createRunningServer({
    origin,
    webpath: pathname.replace(/^\/|\/$/g, ''),
    revision: null,
    credentials,
    lines: { all: REVISIONS, resolve: resolveRevision },
    clock: options.clock,
    log: options.log,
  });
}

const silent: LogPort = { debug() {}, info() {}, warn() {}, error() {} };

/** Without a data folder: nothing is kept of the server. */
export const openFront: OpenFront = async ({ url, clock }) => {
  const { token, username, password } = UPSTREAM_CREDENTIALS;
  const credentials = { token, operator: { username, password } };
  const options = { url, credentials, clock, dataFolder: null, fileSystem: createFileSystem(), log: silent };
  const server = serverAt(options);
  let asked: Promise<unknown> = Promise.resolve();
  const subscription: UpstreamServer['subscription'] = (...of) => {
    const answer = server.subscription(...of);
    asked = answer.catch(() => undefined);
    return answer;
  };
  const backend = await openUpstreamBackend({
    ...options,
    server: { ...server, subscription },
    random: systemRandom,
  });
  return { backend, learnt: () => asked.then(() => undefined) };
};
