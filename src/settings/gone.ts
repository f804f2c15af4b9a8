import type { FlagShape, GoneFlags } from './flags.js';

/** A removed setting. It may still be given to a gateway, and is ignored. */
interface GoneSetting {
  /** Without its dashes; variable and member are named after it. */
  readonly flag: string;
  readonly takesValue: boolean;
  /** The option of `createGateway`, perhaps as a member of another. */
  readonly option: string;
  /** The present rule, and what to do. */
  readonly instead: string;
}

export const GONE: readonly GoneSetting[] = [
  {
    flag: 'settle',
    takesValue: true,
    option: 'settle',
    instead: 'a key that is gone from the server is made again where that may have lost it; leave this out',
  },
  {
    flag: 'upstream-most-keys',
    takesValue: true,
    option: 'upstream.mostKeys',
    instead: 'lists of up to a million keys are read; leave this out',
  },
  {
    flag: 'keep-gone',
    takesValue: true,
    option: 'keepGone',
    instead: 'counters of a key that left are kept for 30 days; leave this out',
  },
  {
    flag: 'report-version',
    takesValue: true,
    option: 'reportVersion',
    instead: 'the status reports the version that is given as the revision, such as 0.2.58; give it there',
  },
  {
    flag: 'guard-config',
    takesValue: false,
    option: 'guardConfig',
    instead: 'the API never replaces a file with inbounds by one without any for keys; leave this out',
  },
];

/** The removed flags of a command that serves, which still accepts them. */
export const GONE_SHAPES: readonly FlagShape[] = GONE.map(({ flag, takesValue }) => ({
  flag,
  placeholder: takesValue ? 'VALUE' : null,
  repeatable: true,
}));

/** The removed flags of every other command, which refuses them. */
export const GONE_SETTING_FLAGS: GoneFlags = Object.fromEntries(GONE.map(({ flag, instead }) => [flag, instead]));

/** Returns a warning for each place where a removed setting is given; `placesOf` returns those of one. */
export function goneWarnings(placesOf: (gone: GoneSetting) => readonly string[]): readonly string[] {
  return GONE.flatMap((gone) => placesOf(gone).map((place) => `${place}: is gone: ${gone.instead}`));
}
