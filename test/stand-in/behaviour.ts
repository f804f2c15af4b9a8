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
  /** Where servers from 0.4.0 on are otherwise (../shared/lines-0.4-measured.md). */
  readonly later: LaterBehaviour;
}

/** Where servers from 0.4.0 on are otherwise; all false, or null, for those before. */
export interface LaterBehaviour {
  /** A start wants a listener and a key, a member of another type ends it, and an odd element of the key list ends a reload. */
  readonly isTyped: boolean;
  /** Counters are stored beside the file, and read back at a start. */
  readonly keepsCounters: boolean;
  /** Connections are live sessions, and keys made in bulk get counters with the next reload. */
  readonly countsSessions: boolean;
  /** The status has nine members, and a link of each carrier stands beside what a subscription is asked for. */
  readonly tellsServer: boolean;
  /** What of the routes from 0.4.6 on is there. */
  readonly hasDns: boolean;
  readonly hasOvernet: boolean;
  /** A body is read, and refused, before the credential is looked at. */
  readonly readsBodyFirst: boolean;
  /** The panel is one file. */
  readonly hasOnePage: boolean;
  /** Pages of other origins may not call. */
  readonly isOwnOriginOnly: boolean;
  /** Failed sign-ins that all callers have together in a minute; null for any number. */
  readonly failedLogins: number | null;
  readonly takesPbkdf2: boolean;
}

/** What a beta that reports 0.4.6 may not have yet. */
export type Lacking = 'endpoint' | 'dns' | 'sessions' | 'counters';

/** How a server of this line or package version behaves. Throws for an unknown one. */
export function behaviourOf(line: string, lacking: readonly Lacking[] = []): Behaviour {
  const resolved = resolveRevision(line);
  if (!resolved.ok) throw new Error(`the line of a stand-in: ${resolved.problem}`);
  const { revision, version } = resolved;
  // By what is read in their source (../shared/lines-0.4.md): a flat file again, rules stored; called here as the last line.
  const isFlat = semver.gte(version, '0.4.0');
  const isOldest = semver.lt(version, '0.2.31');
  const later = laterBehaviour(version, lacking);
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
      later,
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
    later,
  };
}

function laterBehaviour(version: string, lacking: readonly Lacking[]): LaterBehaviour {
  const release = semver.coerce(version) ?? version;
  const isSince = (first: string) => semver.gte(release, first);
  const isOf047 = isSince('0.4.7');
  const isOf046 = isSince('0.4.6');
  return {
    isTyped: isSince('0.4.0'),
    keepsCounters: isOf046 && !lacking.includes('counters'),
    countsSessions: isOf046 && !lacking.includes('sessions'),
    tellsServer: isOf046 && !lacking.includes('endpoint'),
    hasDns: isOf046 && !lacking.includes('dns'),
    hasOvernet: isOf047,
    readsBodyFirst: isOf046,
    hasOnePage: isOf046,
    isOwnOriginOnly: isOf047,
    failedLogins: isOf047 ? 10 : null,
    takesPbkdf2: isOf047,
  };
}
