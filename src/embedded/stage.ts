import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FILE_LIMITS } from '../core/file-limits.js';
import type { ClockPort, FileSystemPort } from '../core/ports.js';
import { createGateway } from '../gateway/create-gateway.js';
import type { GatewayOptions } from '../gateway/options.js';
import { DEFAULT_ADDRESSES } from '../lab/format/addresses.js';
import { type CounterState, type Given, isExchange, type Scenario } from '../lab/format/scenario.js';
import { givenFile, type PlayOptions, type Stage } from '../lab/play/play.js';
import { createFileSystem } from '../platform/file-system.js';
import { createMemoryFiles } from '../platform/memory-files.js';
import { BEGINNING, createSeededRandom } from '../platform/seeded-ports.js';
import { isJsonObject, JsonSyntaxError, parseJson } from '../wire/json/json.js';

/** The index page of the servers that were recorded; the written fixtures use the same. */
const INDEX_PAGE = '<!doctype html><title>panel</title><script src="./assets/app.js"></script>\n';

/** Milliseconds between two questions whether the gateway has noticed something, and the most in all. */
const ASK_EVERY = 2;
const ASK_FOR = 20_000;

/** The real one, less the waiting for the disk: what a scenario asks for is what the files say, not that they last. */
const DISK: FileSystemPort = { ...createFileSystem(), sync: async () => {}, syncFolder: async () => {} };

const PRIVATE_FILE = 0o600;
const PRIVATE_FOLDER = 0o700;

type App = Awaited<ReturnType<typeof createGateway>>;

/** A gateway that stands in a scenario's given state, listening on a loopback port. */
export interface StagedGateway extends Required<Pick<PlayOptions, 'target' | 'stage' | 'addresses'>> {
  readonly app: App;
  close(): Promise<void>;
}

export interface StageOptions {
  /** The place of its files; `disk` when left out. */
  readonly files?: 'disk' | 'memory';
  /** Options of the gateway that win over the stage's own. */
  readonly gateway?: Omit<Partial<GatewayOptions>, 'mounts'>;
}

/** A clock that does not know the time: it begins at the same instant every time and goes on by one second per look. */
export function createFixedClock(): ClockPort {
  let looks = 0;
  const look = () => {
    looks += 1;
    return looks * 1000;
  };
  return { now: () => BEGINNING + look(), monotonic: look };
}

/** The place of a scenario's files. */
interface Place {
  readonly folder: string;
  readonly files: FileSystemPort;
  remove(): Promise<void>;
}

/** A folder of its own below the system's temporary one. */
async function placeOnDisk(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'keyway-scenario-'));
  return { folder, files: DISK, remove: () => rm(folder, { recursive: true, force: true }) };
}

async function placeInMemory(): Promise<Place> {
  const files = createMemoryFiles();
  await files.makeFolder('/scenario', PRIVATE_FOLDER);
  return { folder: '/scenario', files, remove: async () => undefined };
}

/** Starts a gateway for one scenario: its file, counters and listener, in a place of its own, on fixed time and randomness. */
export async function stageScenario(
  scenario: Scenario,
  revision: string,
  options: StageOptions = {},
): Promise<StagedGateway> {
  const staged = await openScenario(scenario, revision, options);
  try {
    const origin = await staged.app.listen({ host: '127.0.0.1', port: 0 });
    return { ...staged, target: { ...staged.target, origin } };
  } catch (error) {
    await staged.close();
    throw error;
  }
}

async function openScenario(
  scenario: Scenario,
  revision: string,
  { files = 'disk', gateway = {} }: StageOptions,
): Promise<StagedGateway> {
  const place = files === 'disk' ? await placeOnDisk() : await placeInMemory();
  const opened: { app?: App } = {};
  const close = async () => {
    await opened.app?.close();
    await place.remove();
  };
  try {
    const configPath = join(place.folder, 'server.jsonc');
    const file = givenFile(scenario, DEFAULT_ADDRESSES);
    if (file !== undefined) await place.files.create(configPath, Buffer.from(file), PRIVATE_FILE);
    const app = await createGateway({
      mounts: [{ revision }],
      panelDir: await makePanel(place),
      loginGuard: 'off',
      clock: createFixedClock(),
      random: createSeededRandom('keyway replay'),
      fileSystem: place.files,
      // Looked at where the scenario changes it by hand, and else never.
      pollMilliseconds: scenario.exchanges.every(isExchange) ? 0 : 5,
      // A writer that wakes by itself looks at the clock, which goes on by each look: how often would depend on the machine.
      countersWriteMilliseconds: 0,
      ...(file === undefined ? {} : { configPath }),
      ...(scenario.given.server === undefined ? {} : { announced: scenario.given.server }),
      ...listenerOf(scenario.given),
      ...gateway,
    });
    opened.app = app;
    await app.ready();
    setCounters(app, scenario.given.counters ?? []);
    const mount = app.keyway.mounts[0];
    if (mount === undefined) throw new Error('a gateway without a mount');
    const target = { origin: 'http://127.0.0.1', apiRoot: mount.api, base: mount.base };
    return { app, target, addresses: DEFAULT_ADDRESSES, stage: createStage(app, configPath, place.files), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function makePanel({ folder, files }: Place): Promise<string> {
  const panel = join(folder, 'panel');
  await files.makeFolder(panel, PRIVATE_FOLDER);
  await files.create(join(panel, 'index.html'), Buffer.from(INDEX_PAGE), PRIVATE_FILE);
  await files.makeFolder(join(panel, 'assets'), PRIVATE_FOLDER);
  await files.create(join(panel, 'assets/app.js'), Buffer.from('export {};\n'), PRIVATE_FILE);
  return panel;
}

function listenerOf({ listener }: Given): Pick<Parameters<typeof createGateway>[0], 'listener'> {
  if (listener === undefined) return {};
  const { password_hash: passwordHash, ...rest } = listener;
  return { listener: passwordHash === undefined ? rest : { ...rest, passwordHash } };
}

function setCounters(app: App, list: readonly CounterState[]): void {
  for (const { access_key, bytes_up: bytesUp, bytes_down: bytesDown, connections } of list) {
    const known = app.keyway.local?.keys.setCounters(access_key, { bytesUp, bytesDown, connections });
    if (known !== true) throw new Error(`counters of a key that is not registered: ${access_key}`);
  }
}

function createStage(app: App, configPath: string, files: FileSystemPort): Stage {
  const configuration = app.keyway.local?.configuration;
  let reloads = 0;
  configuration?.onReload(() => {
    reloads += 1;
  });
  return {
    counters: async (list) => setCounters(app, list),
    async handEdit(text) {
      const before = reloads;
      const kept = await files.stat(configPath).catch(() => null);
      if (kept !== null) await files.remove(configPath);
      await files.create(configPath, Buffer.from(text), PRIVATE_FILE);
      const kind = kindOfEdit(text);
      if (kind === 'live') await until(() => reloads > before, 'an edit by hand to become live');
      if (kind === 'broken')
        await until(() => configuration?.status().parseError !== null, 'a broken file to be noticed');
    },
    settle: async () => until(() => configuration?.status().writing !== true, 'the file to be written'),
    async breakFile(reason) {
      await files.remove(configPath);
      if (reason === 'a folder stands where the file was') await files.makeFolder(configPath, PRIVATE_FOLDER);
    },
    configText: async () => (await files.read(configPath, FILE_LIMITS.configuration)).toString('utf8'),
  };
}

/** The effect of an edit on the gateway (design: "Hand edits"): only a server's configuration becomes live. */
function kindOfEdit(text: string): 'live' | 'broken' | 'kept' {
  try {
    const root = parseJson(Buffer.from(text), { comments: true, duplicates: 'last' });
    if (!isJsonObject(root)) return 'broken';
    return root.mode === 'server' ? 'live' : 'kept';
  } catch (error) {
    if (error instanceof JsonSyntaxError) return 'broken';
    throw error;
  }
}

async function until(holds: () => boolean, what: string): Promise<void> {
  const end = performance.now() + ASK_FOR;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`waited ${ASK_FOR} ms for ${what}`);
    await sleep(ASK_EVERY);
  }
}
