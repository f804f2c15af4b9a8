import type { Problem, ProblemKinds } from '../../core/backend.js';
import type { FileSystemPort } from '../../core/ports.js';
import { exists } from '../../platform/presence.js';
import type { ConfigurationFileStatus } from './configuration/configuration-file.js';

/** The problems of a configuration file and its counters. */
export const FILE_PROBLEMS = {
  configuration_unreadable: 'own',
  configuration_unwritable: 'own',
  counters_unwritable: 'own',
  counters_moved_aside: 'own',
  inbounds_not_live: 'own',
  config_unreadable_by_server: 'own',
} as const satisfies ProblemKinds;

/** The sources of problems; null where there is no such thing. */
export interface ProblemSources {
  readonly configuration:
    | (() => Pick<
        ConfigurationFileStatus,
        'parseError' | 'lastWriteError' | 'takenError' | 'inboundsError' | 'startError'
      >)
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
    const file = configuration?.() ?? {
      parseError: null,
      lastWriteError: null,
      takenError: null,
      inboundsError: null,
      startError: null,
    };
    const store = counters?.() ?? { movedAside: null, lastWriteError: null };
    const aside = store.movedAside !== null && (await exists(fileSystem, store.movedAside)) ? store.movedAside : null;
    const reasons: Readonly<Record<keyof typeof FILE_PROBLEMS, string | null>> = {
      configuration_unreadable: said(
        file.parseError,
        'the configuration file cannot be read, the last good state stays live',
      ),
      configuration_unwritable:
        file.takenError ?? said(file.lastWriteError, 'the last write of the configuration file failed'),
      counters_unwritable: said(store.lastWriteError, 'the last write of the counters failed'),
      counters_moved_aside: said(
        aside,
        'the store of counters was damaged and was moved away; look at it, then remove it',
      ),
      inbounds_not_live: file.inboundsError,
      config_unreadable_by_server: file.startError,
    };
    return Object.entries(reasons).flatMap(([problem, reason]) => (reason === null ? [] : [{ problem, reason }]));
  };
}

function said(detail: string | null, what: string): string | null {
  return detail === null ? null : `${what}: ${detail}`;
}
