import { join } from 'node:path';
import type { LogPort } from '../core/ports.js';
import { createResolver, type Resolver } from '../dns/resolver.js';
import { systemClock, systemRandom } from '../platform/system-ports.js';
import { dataFolderOf, type Settings } from '../settings/table.js';

/**
 * The embedded DNS server that the settings ask for, or null with `--no-resolver`. It opens nothing before its start, and
 * then only when the DNS settings enable it.
 */
export function resolverFor(settings: Settings, log: LogPort): Resolver | null {
  if (settings.noResolver) return null;
  const dataFolder = dataFolderOf(settings);
  const copyFolder = dataFolder === null ? null : join(dataFolder, 'blocklists');
  return createResolver({ copyFolder, fileFolder: settings.listFolder, clock: systemClock, random: systemRandom, log });
}
