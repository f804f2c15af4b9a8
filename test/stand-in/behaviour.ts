import semver from 'semver';
import { resolveRevision } from '../../revisions/index.js';
import type { Revision } from '../../src/wire/traits/revision.js';

/**
 * How the servers of one package version treat their state, as it was measured on them. What their answers look like is
 * the record's of the revision; what is here is what Keyway does otherwise, so that nothing of it is shared.
 */
export interface Behaviour {
  readonly revision: Revision;
  readonly version: string;
  /** Where keys are read from at a start. */
  readonly keysAtStart: 'root list' | 'inbounds';
  /** What a reload reads. `union`: the root list and the inbounds, whose elements win. */
  readonly keysAtReload: 'root list' | 'union';
  /** Whether key writes reach the file (up to 0.2.30 seen in the history of their source, not run: they do not). */
  readonly storesKeys: boolean;
  /** Whether an element of the root list that is an object ends a start and every reload (up to 0.2.30, seen likewise). */
  readonly takesOnlyStrings: boolean;
  /** What a write of rules leaves of a file without comments. One with comments cannot be parsed then, and is written back as `null`. */
  readonly rulesWrite: 'stores' | 'nothing';
  /** Whether an element `{"access_key": …}` of the root list ends a reload. */
  readonly reloadEndsAtObjects: boolean;
  /** Whether counters are stored beside the file and read back at a start (read in the source of 0.4.6, not measured). */
  readonly keepsCounters: boolean;
  /** Whether the status tells the address for clients, and links have their key percent-encoded (read, not measured). */
  readonly tellsEndpoint: boolean;
}

/** How a server of this line or package version behaves. Throws for an unknown one. */
export function behaviourOf(line: string): Behaviour {
  const resolved = resolveRevision(line);
  if (!resolved.ok) throw new Error(`the line of a stand-in: ${resolved.problem}`);
  const { revision, version } = resolved;
  // By what is read in their source (../shared/lines-0.4.md): a flat file again, rules stored; called here as the last line.
  const isFlat = semver.gte(version, '0.4.0');
  const isOldest = semver.lt(version, '0.2.31');
  const isOf046 = semver.gte(version, '0.4.6');
  if (semver.gte(version, '0.3.7') && !isFlat) {
    return {
      revision,
      version,
      keysAtStart: 'inbounds',
      keysAtReload: semver.gt(version, '0.3.10') ? 'union' : 'root list',
      storesKeys: true,
      takesOnlyStrings: false,
      rulesWrite: 'nothing',
      reloadEndsAtObjects: true,
      keepsCounters: isOf046,
      tellsEndpoint: isOf046,
    };
  }
  return {
    revision,
    version,
    keysAtStart: 'root list',
    keysAtReload: 'root list',
    storesKeys: !isOldest,
    takesOnlyStrings: isOldest,
    rulesWrite: 'stores',
    reloadEndsAtObjects: false,
    keepsCounters: isOf046,
    tellsEndpoint: isOf046,
  };
}
