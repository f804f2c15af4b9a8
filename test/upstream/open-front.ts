import { REVISIONS } from '../../revisions/all.js';
import { resolveRevision } from '../../revisions/index.js';
import type { LogPort } from '../../src/core/ports.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { systemRandom } from '../../src/platform/system-ports.js';
import {
  openUpstreamBackend,
  type UpstreamBackend,
  type UpstreamBackendOptions,
} from '../../src/southbound/backend.js';
import type { TargetCredentials } from '../../src/southbound/control.js';
import { createRunningServer } from '../../src/southbound/running-server.js';
import { type OpenFront, UPSTREAM_CREDENTIALS } from './stage.js';

export interface FrontBackendOptions extends Omit<UpstreamBackendOptions, 'server' | 'random'> {
  /** Origin and web path. */
  readonly url: string;
  readonly credentials: TargetCredentials;
}

/** Opens the state of a server at this URL. */
export function openFrontBackend({ url, credentials, ...options }: FrontBackendOptions): Promise<UpstreamBackend> {
  const { origin, pathname } = new URL(url);
  const server = createRunningServer({
    origin,
    webpath: pathname.replace(/^\/|\/$/g, ''),
    revision: null,
    credentials,
    lines: { all: REVISIONS, resolve: resolveRevision },
    clock: options.clock,
    log: options.log,
  });
  return openUpstreamBackend({ ...options, server, random: systemRandom });
}

const silent: LogPort = { debug() {}, info() {}, warn() {}, error() {} };

/** Without a data folder: nothing is kept of the server. */
export const openFront: OpenFront = ({ url, clock }) => {
  const { token, username, password } = UPSTREAM_CREDENTIALS;
  const credentials = { token, operator: { username, password } };
  return openFrontBackend({
    url,
    credentials,
    clock,
    dataFolder: null,
    fileSystem: createFileSystem(),
    log: silent,
  });
};
