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
  /**
   * What a write of rules does to the file. `replaces`: like any other write. `comments are lost for null`: it is parsed
   * with its comments, and what cannot be parsed is written back as `null`.
   */
  readonly rulesWrite: 'replaces' | 'comments are lost for null' | 'nothing';
  /** Whether an element `{"access_key": …}` of the root list ends a reload. */
  readonly reloadEndsAtObjects: boolean;
}

/** How a server of this line or package version behaves. Throws for an unknown one. */
export function behaviourOf(line: string): Behaviour {
  const resolved = resolveRevision(line);
  if (!resolved.ok) throw new Error(`the line of a stand-in: ${resolved.problem}`);
  const { revision, version } = resolved;
  if (semver.gte(version, '0.3.7')) {
    return {
      revision,
      version,
      keysAtStart: 'inbounds',
      keysAtReload: semver.gt(version, '0.3.10') ? 'union' : 'root list',
      rulesWrite: 'nothing',
      reloadEndsAtObjects: true,
    };
  }
  return {
    revision,
    version,
    keysAtStart: 'root list',
    keysAtReload: 'root list',
    rulesWrite: semver.gte(version, '0.2.88') ? 'comments are lost for null' : 'replaces',
    reloadEndsAtObjects: false,
  };
}
