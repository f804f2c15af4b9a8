import { PROBLEMS, type Problem, type ProblemName } from '../../core/backend.js';
import type { FileSystemPort } from '../../core/ports.js';
import { exists } from '../../platform/presence.js';
import type { ConfigurationFileStatus } from './configuration/configuration-file.js';

/** What problems are read from. Null where there is no such thing. */
export interface ProblemSources {
  readonly configuration:
    | (() => Pick<ConfigurationFileStatus, 'parseError' | 'lastWriteError' | 'inboundsError'>)
    | null;
  readonly counters: (() => { readonly movedAside: string | null; readonly lastWriteError: string | null }) | null;
  readonly fileSystem: Pick<FileSystemPort, 'stat'>;
}

/**
 * A store that was moved aside at the start is a problem until its folder is gone too (somebody has looked at it), or
 * Keyway is started again.
 */
export function createProblems({ configuration, counters, fileSystem }: ProblemSources) {
  return async (): Promise<readonly Problem[]> => {
    const file = configuration?.() ?? { parseError: null, lastWriteError: null, inboundsError: null };
    const store = counters?.() ?? { movedAside: null, lastWriteError: null };
    const aside = store.movedAside !== null && (await exists(fileSystem, store.movedAside)) ? store.movedAside : null;
    const reasons: Readonly<Partial<Record<ProblemName, string | null>>> = {
      configuration_unreadable: said(
        file.parseError,
        'the configuration file cannot be read, the last good state stays live',
      ),
      configuration_unwritable: said(file.lastWriteError, 'the last write of the configuration file failed'),
      inbounds_not_live: file.inboundsError,
      counters_unwritable: said(store.lastWriteError, 'the last write of the counters failed'),
      counters_moved_aside: said(
        aside,
        'the store of counters was damaged and was moved away; look at it, then remove it',
      ),
    };
    return PROBLEMS.flatMap((problem) => {
      const { [problem]: reason = null } = reasons;
      return reason === null ? [] : [{ problem, reason }];
    });
  };
}

function said(detail: string | null, what: string): string | null {
  return detail === null ? null : `${what}: ${detail}`;
}
