import { olderMembers } from '../../core/dns-settings.js';
import { recordOf } from '../../core/keys/key-record.js';
import type { ServerConfiguration } from '../../core/model.js';
import { takesPlainKeysAlone } from '../../wire/traits/server-file.js';
import { readDocument } from '../document.js';
import { ConfigurationShapeError, type LayoutName } from '../layout.js';
import { createLosses, type Loss } from './losses.js';
import { type ConversionTarget, configVersionOf, nameUnread, withConfigVersion, withNeeded } from './target.js';
import { draftOf, refuseRepeated } from './text.js';
import { toAccessKeys } from './to-access-keys.js';
import { toInbounds } from './to-inbounds.js';

/** A file in the form that servers of another line expect. */
export interface Conversion {
  /** The layout before. */
  readonly from: LayoutName;
  /** The members that are left out for lack of a place, that the target ignores, or that change their meaning. */
  readonly losses: readonly Loss[];
  readonly bytes: Buffer;
}

/**
 * Converts a file for another target. Keys, names, limits, their order and every comment stay, as do unknown members
 * whose parent exists in the other layout. Throws `ConfigurationShapeError` if the file has that form already or has a
 * member twice, and as `readDocument` does. Calls `onStep` with the share that is done, from 0 to 1, before each of
 * three steps: the file is read, converted, and read again to check it.
 */
export function convertFile(
  bytes: Buffer,
  to: ConversionTarget,
  onStep: (share: number) => void = () => undefined,
): Conversion {
  onStep(0);
  const { document, configuration } = readDocument(bytes);
  const source = draftOf(bytes);
  const version = to.configVersion;
  const [isSameLayout, present] = [document.layout.name === to.layout, configVersionOf(source)];
  if (isSameLayout && present === (version === null ? null : String(version))) throw alreadySo(to);
  refuseRepeated(source.root, '');
  const losses = createLosses();
  onStep(1 / 3);
  nameUnread(source, configuration, to, losses);
  const moved = isSameLayout ? bytes : (to.layout === 'inbounds' ? toInbounds : toAccessKeys)(bytes, losses);
  const converted = withConfigVersion(draftOf(withNeeded(moved, to, losses)), to);
  onStep(2 / 3);
  const isPlain = 'root' in to && takesPlainKeysAlone(to);
  const kept = isPlain ? withBareKeys(configuration) : configuration;
  checkSame(kept, readDocument(converted).configuration, losses.list().length > 0);
  return { from: document.layout.name, losses: losses.list(), bytes: converted };
}

function withBareKeys(configuration: ServerConfiguration): ServerConfiguration {
  return { ...configuration, keys: configuration.keys.map(({ accessKey }) => recordOf(accessKey)) };
}

function alreadySo({ layout, configVersion: version }: ConversionTarget): ConfigurationShapeError {
  const words = version === null ? '' : ` and config_version ${version}`;
  return new ConfigurationShapeError(`the file has the layout with ${layout}${words} already`);
}

/** Throws if the converted file would read differently. With accepted losses only the keys must be the same. */
function checkSame(before: ServerConfiguration, after: ServerConfiguration, lossy: boolean): void {
  const wanted = lossy ? ['keys'] : ['mode', 'keys', 'listener', 'listen', 'outbound', 'dns'];
  const differing = differences(before, after).filter((name) => wanted.includes(name));
  if (differing.length === 0) return;
  throw new Error(`the file cannot be converted: what it says of ${differing.join(', ')} would be something else`);
}

function differences(before: ServerConfiguration, after: ServerConfiguration): readonly string[] {
  const texts = ({ mode, keys, listener, listen, outbound, dns }: ServerConfiguration) => {
    // In a section of the form of 0.4.6 the older members have no effect.
    const inForce = dns.resolver === null ? dns : { ...dns, ...olderMembers(dns) };
    const parts = { mode, keys, listener, listen, outbound, dns: inForce };
    return Object.entries(parts).map(([name, value]) => [name, text(value)]);
  };
  const others = new Map(texts(after).map(([name, value]) => [name, value]));
  return texts(before).flatMap(([name = '', value]) => (others.get(name) === value ? [] : [name]));
}

function text(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) => {
    if (typeof member === 'bigint') return `${member}n`;
    return member instanceof Map ? [...member] : member;
  });
}
