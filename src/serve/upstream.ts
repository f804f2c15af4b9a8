import type { FileSystemPort } from '../core/ports.js';
import type { ResolvedUpstream } from '../gateway/options.js';
import type { Settings } from '../settings/table.js';
import { readTrusted } from './tls.js';

/** What of the settings says how a running server is reached. */
export const UPSTREAM_SETTINGS = [
  'upstream',
  'upstreamRevision',
  'upstreamToken',
  'upstreamUsername',
  'upstreamPassword',
  'upstreamCa',
  'upstreamMostKeys',
] as const satisfies readonly (keyof Settings)[];

/** The running server that the settings name, or null. Rejects with a `StartError` that names `--upstream-ca`. */
export async function upstreamOf(settings: Settings, fileSystem: FileSystemPort): Promise<ResolvedUpstream | null> {
  const { upstream, upstreamRevision, upstreamCa, upstreamMostKeys: mostKeys } = settings;
  if (upstream === null) return null;
  const { upstreamToken: token, upstreamUsername: username, upstreamPassword: password } = settings;
  const operator = username === null || password === null ? null : { username, password };
  const { origin, webpath } = upstream;
  return {
    origin,
    webpath,
    revision: upstreamRevision?.revision ?? null,
    credentials: { token, operator },
    mostKeys,
    ...(upstreamCa === null ? {} : { ca: await readTrusted('upstream-ca', upstreamCa, fileSystem) }),
  };
}
