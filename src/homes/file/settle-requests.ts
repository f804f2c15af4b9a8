import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClockPort, FileSystemPort, LogPort, ProgressPort } from '../../core/ports.js';
import { readDocument } from '../../document/document.js';
import { noFileIn, openDataFolder } from '../../files/data-folder.js';
import { type Pieces, piecesOf } from '../../files/file-pieces.js';
import { inDataFolder } from '../../files/foreign.js';
import { holdForServing } from '../../files/hold.js';
import { expectAnswer, InUseError, lockPorts } from '../../files/lock.js';
import { openLocalBackend } from './backend.js';
import { replaceContent } from './configuration/replace-content.js';
import { readBesides } from './counters/lines.js';
import { replaceStore } from './counters/replace-store.js';
import {
  type FolderRequest,
  finishRequest,
  type RequestKind,
  requestOutcome,
  submitRequest,
  waitingRequests,
} from './requests/folder-requests.js';

/** A configuration file and its data folder, as a command names them. */
export interface StoredPlace {
  /** Null: counters without a configuration file. */
  readonly configPath: string | null;
  readonly dataFolder: string;
  readonly inPlace: boolean;
  readonly fileSystem: FileSystemPort;
  readonly clock: ClockPort;
  readonly log: LogPort;
  readonly progress: ProgressPort;
  /** Takes the request back, with its reason as the error; work on it that has begun goes on, unless it is only read here. */
  readonly stop?: AbortSignal;
}

const LIMIT_MS = 120_000;
const OTHER_FOLDER = 'Or name the data folder that it was started with, so that it does this itself.';
const LOOK_MS = 100;

/**
 * Has a request done: by the Keyway that serves from the folder, or here when none does. Resolves once it is durable;
 * rejects with an error for people.
 */
export async function settleRequest(
  place: StoredPlace,
  kind: RequestKind,
  content: Pieces,
  configuration: Buffer | null,
): Promise<void> {
  await inDataFolder(place.fileSystem, place, () => settle(place, kind, content, configuration));
}

async function settle(
  place: StoredPlace,
  kind: RequestKind,
  content: Pieces,
  configuration: Buffer | null,
): Promise<void> {
  const { fileSystem, dataFolder, configPath, clock, progress } = place;
  await openDataFolder(fileSystem, dataFolder, configPath ?? noFileIn(dataFolder));
  const request = await submitRequest(fileSystem, dataFolder, kind, content);
  try {
    const begun = clock.monotonic();
    for (;;) {
      const outcome = await requestOutcome(fileSystem, dataFolder, request);
      if (outcome?.refused) throw new Error(outcome.refused);
      if (outcome !== null) return;
      place.stop?.throwIfAborted();
      // Work that this process did itself is done, however long it took.
      const holder = await doneHereOrBy(place, request, configuration);
      if (holder === null) continue;
      const waited = clock.monotonic() - begun;
      expectAnswer(holder, waited);
      if (waited >= LIMIT_MS) {
        throw new Error(
          `the Keyway that serves from ${dataFolder} has not done it within ${LIMIT_MS / 1000} s: see its log`,
        );
      }
      progress.show(`waiting for the Keyway that serves: ${Math.floor(waited / 1000)} s`);
      await sleep(LOOK_MS);
    }
  } catch (error) {
    // A request that its sender was told had failed must not be done at the next start.
    await fileSystem.remove(request.path).catch(() => undefined);
    throw error;
  }
}

/** Returns who serves from the folder; where nobody does, does here what waits there, and returns null. */
async function doneHereOrBy(
  place: StoredPlace,
  request: FolderRequest,
  configuration: Buffer | null,
): Promise<InUseError | null> {
  try {
    if (configuration === null || place.configPath === null) await doHere(place);
    else await restoreHere({ ...place, path: place.configPath }, request, configuration);
    return null;
  } catch (error) {
    if (!(error instanceof InUseError)) throw error;
    if (error.of === 'folder') return error;
    throw new Error(`${error.message} ${OTHER_FOLDER}`, { cause: error });
  }
}

async function doHere({ configPath, dataFolder, ...place }: StoredPlace): Promise<void> {
  place.progress.show('reading the configuration file and its counters');
  const backend = await openLocalBackend({
    ...place,
    configPath,
    dataDir: dataFolder,
    pollMilliseconds: 0,
    watch: false,
  });
  await backend.requests.look().finally(backend.close);
}

/**
 * Makes file and folder what the request says, which needs none of their counters in memory, nor a file that can be read.
 * The request waits until then: a crash leaves it to the next start. What waited before it is over with it.
 */
async function restoreHere(
  place: StoredPlace & { readonly path: string },
  request: FolderRequest,
  configuration: Buffer,
): Promise<void> {
  const { path, dataFolder, fileSystem, log, progress, stop } = place;
  const held = { ...lockPorts(fileSystem), log, dataFolder, configurationPath: path, lookMilliseconds: 0 };
  const hold = await holdForServing(held);
  try {
    const requests = await waitingRequests(fileSystem, dataFolder);
    // One that has ended meanwhile did it.
    if (!requests.some((one) => one.path === request.path)) return;
    const shown = (share: number) => {
      stop?.throwIfAborted();
      progress.show('taking over', share);
    };
    const state = await readBesides(piecesOf(fileSystem, request.path, shown));
    progress.show('writing');
    const registered = () => readDocument(configuration).configuration.keys.map(({ accessKey }) => accessKey);
    await replaceStore(place, { ...state, report: basename(request.path), registered }, () =>
      replaceContent({ ...place, folder: hold.folder }, configuration),
    );
    for (const one of requests) if (one.path !== request.path) await finishRequest(fileSystem, dataFolder, one);
    await finishRequest(fileSystem, dataFolder, request);
  } finally {
    await hold.release();
  }
}
