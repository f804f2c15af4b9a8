import { setTimeout as sleep } from 'node:timers/promises';
import type { UpstreamServer } from '../../client/server.js';
import type { KeptVersion } from '../../core/backend.js';
import { DomainError } from '../../core/errors.js';
import type { AccessKey } from '../../core/model.js';
import type { ClockPort } from '../../core/ports.js';
import { refuseVersion } from '../../document/check/keeps-starting.js';
import { readDocument } from '../../document/document.js';
import type { KeptVersions } from '../../files/kept-versions.js';
import { SETTLED_AFTER } from '../../wire/traits/storing.js';
import { REPLACEABLE } from './configuration.js';

/** The version that was sent back to a server. */
export interface RestoredConfiguration {
  readonly version: KeptVersion;
  /** True where the server has its keys by now. False where a key write came before the server had read it. */
  readonly isLive: boolean;
}

export interface RestoreOptions {
  readonly server: Pick<UpstreamServer, 'find' | 'getConfig' | 'putConfig' | 'listUsers' | 'texts'>;
  readonly versions: Pick<KeptVersions, 'find' | 'read' | 'keep'>;
  readonly clock: Pick<ClockPort, 'monotonic'>;
  /** Between two looks at whether it is live, ms; default a second. */
  readonly lookMilliseconds?: number;
}

/**
 * Sends a kept version of a running server's configuration back to it; what it has now is kept as a version first. The id may
 * be shortened. Rejects with an error for people, or as the server refuses it: then nothing is changed.
 */
export async function restoreConfiguration(
  { server, versions, clock, lookMilliseconds = 1_000 }: RestoreOptions,
  id: string,
): Promise<RestoredConfiguration> {
  const { version, content, present } = await versionToSend({ server, versions }, id);
  if (present !== null) await versions.keep(present);
  await server.putConfig(content);
  const { mode, keys } = readDocument(content).configuration;
  const end = clock.monotonic() + SETTLED_AFTER;
  // The server reads its file again within 5 s; of another mode than its own it takes nothing.
  while (mode === 'server') {
    if (await hasKeys(server, keys)) return { version, isLive: true };
    if (clock.monotonic() >= end) break;
    await sleep(lookMilliseconds);
  }
  return { version, isLive: false };
}

/** Reads a version and what the server has now. Rejects with an error for people where the server would start from that and not from the version. */
export async function versionToSend({ server, versions }: Pick<RestoreOptions, 'server' | 'versions'>, id: string) {
  const version = await versions.find(id);
  const content = await versions.read(version.id);
  const { file } = await server.find();
  const present = await server.getConfig().then(({ value }) => value, unlessReplaceable);
  refuseVersion(present, { id: version.id, content }, [file]);
  return { version, content, present };
}

/** A server whose file is destroyed has nothing that could be kept. */
function unlessReplaceable(error: unknown): null {
  if (error instanceof DomainError && REPLACEABLE.has(error.code)) return null;
  throw error;
}

async function hasKeys(server: RestoreOptions['server'], wanted: readonly AccessKey[]): Promise<boolean> {
  const { value } = await server.listUsers();
  const limits = new Map(value.map(({ accessKey, limitBytes }) => [accessKey, limitBytes]));
  return (
    limits.size === wanted.length &&
    wanted.every((key) => limits.get(server.texts.struck(key.accessKey)) === key.limitBytes)
  );
}
