import { setTimeout as sleep } from 'node:timers/promises';
import type { KeptVersion } from '../../document/retention.js';
import { holderOfFile } from '../../files/file-hold.js';
import { holderOfFolder } from '../../files/hold.js';
import { expectAnswer, lockPorts, NoAnswerError } from '../../files/lock.js';
import { readVersion, restoreVersion } from '../../files/restore-version.js';
import type { VersionsOptions } from '../../files/rewrite-file.js';
import { type RequestKind, type RequestOutcome, requestOutcome, submitRequest } from './requests/folder-requests.js';
import { decodeWaiting, type WaitingChanges } from './requests/waiting-changes.js';

/** The restored version, and the fate of the changes that a serving Keyway could not write. */
export interface RestoredBeside {
  readonly version: KeptVersion;
  /** Null where that Keyway did not say. */
  readonly waiting: WaitingChanges | null;
  readonly dropped: boolean;
}

const NOTHING: WaitingChanges = { count: 0, lines: [] };
const LOOK_MS = 100;
/** Until it is restored without knowing what waits. */
const TELL_MS = 5_000;
const RESTORE_MS = 120_000;

/**
 * Makes the configuration file what it was in that version, beside a Keyway that may be serving. Changes whose write failed
 * wait in that Keyway alone and come back over the version; with `dropWaiting` it writes the version itself and gives them
 * up in one moment. Rejects as `restoreVersion` does, and with the reason why that Keyway refuses.
 */
export async function restoreVersionBeside(
  options: VersionsOptions,
  id: string,
  { dropWaiting }: { readonly dropWaiting: boolean },
): Promise<RestoredBeside> {
  const ports = lockPorts(options.fileSystem);
  const { version, content } = await readVersion(options, id);
  const isServedHere = (await holderOfFolder(ports, options.dataFolder)) !== null;
  const elsewhere = isServedHere ? null : await holderOfFile(ports, options.path);
  if (dropWaiting && elsewhere !== null) {
    throw new Error(`${elsewhere.message} Or name the data folder that it was started with, so that it drops them.`);
  }
  if (dropWaiting && isServedHere) {
    const outcome = await ask(options, 'version', content, RESTORE_MS);
    if (outcome !== 'nobody') return { version, waiting: waitingIn(outcome), dropped: true };
  }
  const waiting = isServedHere && !dropWaiting ? await whatWaits(options) : elsewhere === null ? NOTHING : null;
  return { version: await restoreVersion(options, version.id), waiting, dropped: false };
}

/** Asks for the waiting changes; nobody's telling them is no failure of a restore. */
async function whatWaits(options: VersionsOptions): Promise<WaitingChanges | null> {
  const outcome = await ask(options, 'waiting', Buffer.alloc(0), TELL_MS).catch((error: unknown) => {
    if (error instanceof NoAnswerError) throw error;
    return null;
  });
  if (outcome === 'nobody') return NOTHING;
  return outcome === null ? null : waitingIn(outcome);
}

function waitingIn({ answer }: RequestOutcome): WaitingChanges | null {
  return answer === null ? null : decodeWaiting(answer);
}

/** Has a request done by the Keyway that serves from the folder. `nobody`: there is none any more, and nothing was done. */
async function ask(
  { fileSystem, clock, dataFolder }: VersionsOptions,
  kind: RequestKind,
  content: Buffer,
  limit: number,
): Promise<RequestOutcome | 'nobody'> {
  const request = await submitRequest(fileSystem, dataFolder, kind, [content]);
  try {
    const begun = clock.monotonic();
    while (clock.monotonic() < begun + limit) {
      const holder = await holderOfFolder(lockPorts(fileSystem), dataFolder);
      // Looked at behind that: what it did before it ended counts.
      const outcome = await requestOutcome(fileSystem, dataFolder, request);
      if (outcome !== null && outcome.refused !== null) throw new Error(outcome.refused);
      if (outcome !== null) return outcome;
      if (holder === null) return 'nobody';
      expectAnswer(holder, clock.monotonic() - begun);
      await sleep(LOOK_MS);
    }
    const holder = await holderOfFolder(lockPorts(fileSystem), dataFolder);
    if (holder !== null) expectAnswer(holder, limit);
    throw new Error(`the Keyway that serves from ${dataFolder} has not done it within ${limit / 1000} s: see its log`);
  } finally {
    // A request that its sender was told had failed must not be done later.
    await fileSystem.remove(request.path).catch(() => undefined);
  }
}
