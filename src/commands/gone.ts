import type { GoneFlags } from '../settings/flags.js';

/** Commands that went, each with what to use instead. */
export const GONE_COMMANDS: Readonly<Record<string, string>> = {
  init: 'keyway start writes the starter file where there is none, and serves it; --config FILE gives it another name',
  shadow:
    'before an update, record what clients ask with keyway record, and see what changes with keyway compare --from R --to R',
};

const INSTEAD_OF_DESTRUCTIVE =
  'nothing of a server is replaced any more; --writes makes keys of its own and removes them';

/** Flags that went, by their command, each with what to use instead. */
export const GONE_FLAGS: Readonly<Record<string, GoneFlags>> = {
  'keys rotate': {
    grace: 'a rotation takes effect at once',
    'keep-address': 'hand out an address that goes on with keyway keys link KEY --subscription',
  },
  compare: { destructive: INSTEAD_OF_DESTRUCTIVE },
  replay: { destructive: INSTEAD_OF_DESTRUCTIVE },
};
