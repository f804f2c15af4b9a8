import { REVISIONS } from '../../../revisions/all.js';
import type { FileSystemPort, LogPort } from '../../../src/core/ports.js';
import { openUpstreamBackend, type UpstreamBackend } from '../../../src/homes/upstream/backend.js';
import { createMemoryFiles } from '../../../src/platform/memory-files.js';
import { systemRandom } from '../../../src/platform/system-ports.js';
import type { Revision } from '../../../src/wire/traits/revision.js';
import { createFakeServer, type FakeServer, type Trip } from '../../client/fake-server.js';
import { createWorld, type World } from './world.js';

export function line(id: string): Revision {
  const revision = REVISIONS.find((each) => each.id === id);
  if (revision === undefined) throw new Error(`there is no line ${id}`);
  return revision;
}

export interface StagedOptions {
  readonly revision?: string;
  readonly version?: string;
  /** Default: 2 ms, half of them there. */
  readonly trip?: (call: string) => Trip;
  readonly configuration?: string;
  /** Default: one in memory. */
  readonly dataFolder?: null;
  /** In place of `logged` and `lines`. */
  readonly log?: LogPort;
  readonly hasOneSession?: boolean;
  readonly servesStale?: boolean;
  /** To be done to the server before it is opened. */
  readonly before?: (server: FakeServer) => void;
}

/** A backend on a server of a test's own, in time that the test moves. */
export interface Staged {
  readonly world: World;
  readonly server: FakeServer;
  readonly backend: UpstreamBackend;
  readonly files: FileSystemPort;
  /** Messages of the log that are no debugging. */
  readonly logged: string[];
  /** The same with their fields. */
  readonly lines: { readonly message: string; readonly [field: string]: unknown }[];
  /** Another process over the same server and data folder; the one before is gone without a word. */
  again(): Promise<UpstreamBackend>;
}

const FOLDER = '/var/keyway';

export async function staged(options: StagedOptions = {}): Promise<Staged> {
  const { revision = 'current', before, version, configuration, hasOneSession = false } = options;
  const { trip = () => ({ there: 1, back: 1 }), servesStale = false, dataFolder = FOLDER } = options;
  const world = createWorld();
  const files = createMemoryFiles();
  const logged: string[] = [];
  const lines: Staged['lines'] = [];
  const say = (fields: object, message: string) => {
    logged.push(message);
    lines.push({ ...fields, message });
  };
  const { log = { debug() {}, info: say, warn: say, error: say } } = options;
  const server = createFakeServer({
    revision: line(revision),
    monotonic: world.clock.monotonic,
    sleep: world.sleep,
    ...(version === undefined ? {} : { version }),
    trip,
    hasOneSession,
    ...(configuration === undefined ? {} : { configuration }),
  });
  before?.(server);
  const open = async (): Promise<UpstreamBackend> => {
    const { clock, timers } = world;
    // What a killed process had locked is free.
    await files.remove(`${FOLDER}/lock`).catch(() => undefined);
    return openUpstreamBackend({
      server,
      dataFolder,
      servesStale,
      fileSystem: files,
      clock,
      timers,
      random: systemRandom,
      log,
    });
  };
  const backend = await world.until(open());
  return { world, server, backend, files, logged, lines, again: () => world.until(open()) };
}

export const key = (accessKey: string, limitBytes: bigint | null = null, name: string | null = null) => ({
  accessKey,
  name,
  limitBytes,
});

export const held = (accessKey: string, limitBytes: bigint | null = null, name: string | null = null) => ({
  record: key(accessKey, limitBytes, name),
  counters: { bytesUp: 0n, bytesDown: 0n, connections: 0n },
});

/** A server that is so slow that it may lose what it acknowledges. */
export const LOSSY = { trip: (call: string) => ({ there: 1, back: call === 'create' ? 40 : 1 }) };
