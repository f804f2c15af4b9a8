import { isIPv6 } from 'node:net';
import { dirname, join } from 'node:path';
import type { BackendSettings } from '../../core/backend.js';
import { FILE_LIMITS } from '../../core/file-limits.js';
import type { ServerConfiguration } from '../../core/model.js';
import type { FileSystemPort } from '../../core/ports.js';
import { announcedBy } from '../../document/published-sections.js';
import { isMissing, unlessMissing } from '../../platform/presence.js';

/** The settings that a gateway takes from a configuration, besides keys. `publicHost` is what `readPublicHost` gave. */
export function settingsOf(configuration: ServerConfiguration, publicHost: string | null): BackendSettings {
  const { outbound, dns, listener, published } = configuration;
  return { outbound, dns, listener, announced: announcedBy(configuration, publicHost), published };
}

/** The file beside the configuration file into which a server writes the host that its own links announce. */
const PUBLIC_HOST = '.ostp_public_ip';

/** Tells whether a host can stand in that file: the form in which servers read it back. */
function isPublicHost(host: string): boolean {
  return /^[A-Za-z0-9.-]+$/.test(host) || isIPv6(host.replace(/^\[|\]$/g, ''));
}

/** Writes the host beside a configuration file, durably, in place of one before. Resolves to the path. */
export async function keepPublicHost(configPath: string, host: string, fileSystem: FileSystemPort): Promise<string> {
  const path = join(dirname(configPath), PUBLIC_HOST);
  const line = Buffer.from(`${host.replace(/^\[|\]$/g, '')}\n`);
  if (await isMissing(fileSystem, path)) await fileSystem.create(path, line, READABLE);
  else await fileSystem.overwrite(path, line);
  await fileSystem.sync(path);
  await fileSystem.syncFolder(dirname(path));
  return path;
}

/** Servers read it as another user. */
const READABLE = 0o644;

/** The first line that is not empty; null where there is no such file, or no host in that line. */
export async function readPublicHost(
  configPath: string | null,
  fileSystem: Pick<FileSystemPort, 'read'>,
): Promise<string | null> {
  if (configPath === null) return null;
  const path = join(dirname(configPath), PUBLIC_HOST);
  const bytes = await unlessMissing(fileSystem.read(path, FILE_LIMITS.note)).catch(() => null);
  const lines = bytes?.toString('utf8').split('\n') ?? [];
  const host = lines.map((line) => line.trim()).find((line) => line !== '') ?? '';
  if (!isPublicHost(host)) return null;
  return isIPv6(host) ? `[${host}]` : host;
}
