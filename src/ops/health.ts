/** What can be wrong with a gateway that runs. Names are labels of a metric and stay as they are. */
export const PROBLEMS = [
  'configuration_unreadable',
  'configuration_unwritable',
  'counters_unwritable',
  'counters_moved_aside',
] as const;

export type ProblemName = (typeof PROBLEMS)[number];

export interface Problem {
  readonly problem: ProblemName;
  /** A sentence for people, without anything secret. */
  readonly reason: string;
}

/** Whether a gateway does all of its work. */
export interface Health {
  /** What is wrong now; empty while nothing is. */
  problems(): Promise<readonly Problem[]>;
}

/** What health is read from. Null where there is no such thing. */
export interface HealthSources {
  readonly configuration: (() => { readonly parseError: string | null; readonly lastWriteError: string | null }) | null;
  readonly counters: (() => { readonly movedAside: string | null; readonly lastWriteError: string | null }) | null;
  /** Whether something stands at a path. */
  readonly exists: (path: string) => Promise<boolean>;
}

/**
 * A store that was moved aside at the start is a problem until its folder is gone too (somebody has looked at it), or
 * Keyway is started again.
 */
export function createHealth({ configuration, counters, exists }: HealthSources): Health {
  return {
    async problems() {
      const file = configuration?.() ?? { parseError: null, lastWriteError: null };
      const store = counters?.() ?? { movedAside: null, lastWriteError: null };
      const aside = store.movedAside !== null && (await exists(store.movedAside)) ? store.movedAside : null;
      const reasons: Readonly<Record<ProblemName, string | null>> = {
        configuration_unreadable: said(
          file.parseError,
          'the configuration file cannot be read, the last good state stays live',
        ),
        configuration_unwritable: said(file.lastWriteError, 'the last write of the configuration file failed'),
        counters_unwritable: said(store.lastWriteError, 'the last write of the counters failed'),
        counters_moved_aside: said(
          aside,
          'the store of counters was damaged and was moved away; look at it, then remove it',
        ),
      };
      return PROBLEMS.flatMap((problem) => {
        const reason = reasons[problem];
        return reason === null ? [] : [{ problem, reason }];
      });
    },
  };
}

function said(detail: string | null, what: string): string | null {
  return detail === null ? null : `${what}: ${detail}`;
}
