import { isIPv6 } from 'node:net';
import { dirname, join } from 'node:path';
import type { BackendSettings } from '../../core/backend.js';
import { FILE_LIMITS } from '../../core/file-limits.js';
import type { AnnouncedServer, ServerConfiguration } from '../../core/model.js';
import type { FileSystemPort } from '../../core/ports.js';
import { unlessMissing } from '../../platform/presence.js';

/** The settings that a gateway takes from a configuration, besides keys. `publicHost` is what `readPublicHost` gave. */
export function settingsOf(
  { outbound, dns, listener, listen, published }: ServerConfiguration,
  publicHost: string | null,
): BackendSettings {
  const stated = listen === null ? {} : announcedBy(listen);
  const isNowhere = stated.host === undefined || EVERY_ADDRESS.has(stated.host);
  const announced = publicHost !== null && isNowhere ? { ...stated, host: publicHost } : stated;
  return { outbound, dns, listener, announced, published: { ...published, foundHost: publicHost } };
}

/** A server that listens on all its addresses says nothing of the one that clients reach. */
const EVERY_ADDRESS: ReadonlySet<string> = new Set(['', '0.0.0.0', '[::]', '::', '*']);

/** The file beside the configuration file into which a server writes the host that its own links announce. */
const PUBLIC_HOST = '.ostp_public_ip';

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
  if (/^[A-Za-z0-9.-]+$/.test(host)) return host;
  return isIPv6(host) ? `[${host}]` : null;
}

/** By `host:port`; nothing where it is none. */
function announcedBy(listen: string): Partial<AnnouncedServer> {
  const [, host, port] = /^(.*):(\d+)$/.exec(listen) ?? [];
  return host === undefined || port === undefined ? {} : { host, port: Number(port) };
}
