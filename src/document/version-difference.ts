import type { ConfigurationFingerprint } from '../core/backend.js';
import { sameFields } from '../core/keys/key-record.js';
import type { AccessKey } from '../core/model.js';
import { inTurns, Pace } from '../core/steps.js';
import type { ReadConfiguration } from './document.js';
import { differingPlaces, fingerprintSteps } from './patch/fingerprint.js';

/** The changes that turn one configuration into another. */
export interface VersionDifference {
  readonly added: readonly AccessKey[];
  readonly removed: readonly AccessKey[];
  /** The records after the change. */
  readonly changed: readonly AccessKey[];
  /** The places outside the lists of keys, as JSON Pointers. */
  readonly places: readonly string[];
}

/** Returns a function that compares the present configuration with versions of it. */
export async function comparisonWith(
  now: ReadConfiguration,
): Promise<(then: ReadConfiguration) => Promise<VersionDifference>> {
  const present = new Map(now.configuration.keys.map((key) => [key.accessKey, key]));
  const { members } = await fingerprintOf(now);
  return async (then) => {
    const { keys } = then.configuration;
    const kept = new Set(keys.map(({ accessKey }) => accessKey));
    const isChanged = (key: AccessKey): boolean => {
      const before = present.get(key.accessKey);
      return before !== undefined && !sameFields(before, key);
    };
    return {
      added: keys.filter(({ accessKey }) => !present.has(accessKey)),
      removed: [...present.values()].filter(({ accessKey }) => !kept.has(accessKey)),
      changed: keys.filter(isChanged),
      places: differingPlaces(members, (await fingerprintOf(then)).members),
    };
  };
}

function fingerprintOf({ document }: ReadConfiguration): Promise<ConfigurationFingerprint> {
  return inTurns(fingerprintSteps(document, new Pace()));
}

/** Lists the members of the root that contain these places, each once. */
export function membersOf(places: readonly string[]): readonly string[] {
  return [...new Set(places.map((place) => place.split('/')[1] ?? ''))];
}

/** Describes the changes in a few words: `+3 −1 keys, dns`. */
export function differenceWords({ added, removed, changed, places }: VersionDifference): string {
  const counts = [
    ...(added.length > 0 ? [`+${added.length}`] : []),
    ...(removed.length > 0 ? [`−${removed.length}`] : []),
  ];
  const words = [
    ...(counts.length > 0 ? [`${counts.join(' ')} ${keysWord(added.length + removed.length)}`] : []),
    ...(changed.length > 0 ? [`${changed.length} ${keysWord(changed.length)} changed`] : []),
    ...membersOf(places),
  ];
  return words.join(', ') || 'spelling alone';
}

const keysWord = (count: number): string => (count === 1 ? 'key' : 'keys');
