import { DomainError } from './errors.js';
import type { LogPort } from './ports.js';

const MANY_KEYS = 10;
/** Members that a warning names. */
const MOST_NAMED = 20;

/** Tells whether a removal of this size may be an accident, for which the previous version is always kept. */
export const areMany = (removed: number): boolean => removed > MANY_KEYS;

/** A configuration that is to take another's place, in any home. */
export interface Replacement {
  /** True for a restored version, whose content is deliberate. */
  readonly reason: 'replaced' | 'restored';
  /** True if the present configuration has inbounds for keys and the new one does not. */
  readonly losesInbounds: boolean;
  /** The members of the root that the new one does not have, besides lost inbounds. */
  readonly lostMembers: readonly string[];
  /** The number of present keys that the new one does not have. */
  readonly removed: number;
}

/** The decision over a replacement that may be made. */
export interface ReplacementVerdict {
  /** True if the previous version is always kept. */
  readonly forever: boolean;
  /**
   * Says in the log, once it has happened, that it may be a mishap; `fields` name the home. `isKept`, by default true,
   * tells whether there was a version before that could be kept.
   */
  report(log: Pick<LogPort, 'warn'>, fields?: Readonly<Record<string, unknown>>, isKept?: boolean): void;
}

const INBOUNDS_LOST =
  'the configuration has inbounds, and the new one has no inbound with the protocol "ostp", so that its keys would go: it may be an old panel\'s copy. Load it again; what is meant all the same is put in place by hand';

/** Decides over a replacement. Throws `configWriteFailed` for one that would take the inbounds with keys away. */
export function judgeReplacement({ reason, losesInbounds, removed, lostMembers }: Replacement): ReplacementVerdict {
  if (losesInbounds && reason === 'replaced') throw new DomainError('configWriteFailed', INBOUNDS_LOST);
  const forever = areMany(removed);
  return {
    forever,
    report(log, fields = {}, isKept = true) {
      if (lostMembers.length > 0) {
        const named = lostMembers.slice(0, MOST_NAMED).join(', ');
        const others = lostMembers.length > MOST_NAMED ? ` and ${lostMembers.length - MOST_NAMED} more` : '';
        const fate = fateOfBefore(isKept, forever ? undefined : 'kept');
        log.warn(fields, `the new configuration lacks members that the one before had: ${named}${others}; ${fate}`);
      }
      reportRemoved(removed, log, fields, isKept);
    },
  };
}

/** Logs that many keys are gone, if many are. */
export function reportRemoved(
  removed: number,
  log: Pick<LogPort, 'warn'>,
  fields: Readonly<Record<string, unknown>> = {},
  isKept = true,
): void {
  if (!areMany(removed)) return;
  log.warn({ ...fields, removed }, `${removed} keys were removed; ${fateOfBefore(isKept)}`);
}

const fateOfBefore = (isKept: boolean, how = 'kept for good'): string =>
  isKept ? `the version before is ${how}` : 'no version of before is kept';
