import { join } from 'node:path';
import type { ClockPort, LogPort, RandomPort } from '../core/ports.js';
import type { Resolver } from '../dns/resolver.js';
import type { Settings } from '../settings/table.js';

/**
 * The embedded DNS server that the settings ask for; null with `--no-resolver`, and over a home that has its own, unless
 * `--resolver` asks for it. It opens nothing before its start, and then only when the DNS settings enable it.
 */
export async function resolverFor(
  settings: Settings,
  ports: { readonly clock: ClockPort; readonly random: RandomPort; readonly log: LogPort },
): Promise<Resolver | null> {
  const { dataFolder, resolverByDefault } = settings.home;
  if (!(settings.resolver ?? resolverByDefault)) return null;
  const copyFolder = dataFolder === null ? null : join(dataFolder, 'blocklists');
  const { createResolver } = await import('../dns/resolver.js');
  return createResolver({ copyFolder, fileFolder: settings.listFolder, ...ports });
}
