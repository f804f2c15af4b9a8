import type { GoneFlags } from '../settings/flags.js';

/** Commands that went, each with what to use instead. */
export const GONE_COMMANDS: Readonly<Record<string, string>> = {
  shadow:
    'before an update, record what clients ask with keyway record, and see what changes with keyway compare --from R --to R',
};

/** Flags that went, by their command, each with what to use instead. */
export const GONE_FLAGS: Readonly<Record<string, GoneFlags>> = {};
