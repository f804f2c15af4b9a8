import type { LogPort } from '../../../core/ports.js';
import type { ConfigurationDocument } from '../../../document/document.js';
import { legacyListTrouble } from '../../../document/sync-legacy-list.js';
import type { LegacyListReading } from '../../../wire/traits/server-file.js';

interface InboundsWatchOptions {
  readonly path: string;
  readonly log: LogPort;
  /** The reading of a legacy key list by the file's servers. */
  readonly legacyListReading: LegacyListReading;
}

const IN_FRONT = 'stand in front of such a server, with --upstream and the address of its API';

const TROUBLES = {
  'ends reloads': `access_keys: a server has written the keys of its own API next to the inbounds, and an element with "access_key" ends its live reloads: no change of this file is live before its restart, and that reads the inbounds alone; ${IN_FRONT}`,
  'is there': `access_keys: a server has written the keys of its own API next to the inbounds, which are all that its next start reads: keys made over its API are gone then, deleted ones are back, and names and limits that it was given are not live; ${IN_FRONT}`,
  'is taken back': `another program writes this file with inbounds, too, and takes changes of Keyway's back: they are live only until its next write, rules and DNS settings not before its restart; ${IN_FRONT}`,
  'lacks keys':
    'access_keys: servers before 0.3.11 drop every key of the inbounds that it lacks, 5 s after their start; the next change of a key puts all of them there',
} as const;

/** Says once what of a file with inbounds is not live because a server writes it, too (design: "Saving keys"). */
export class InboundsWatch {
  readonly #options: InboundsWatchOptions;
  #trouble: string | null = null;
  /** Another program took changes of Keyway's back: only a start of Keyway's can tell that it is gone. */
  #isReverted = false;

  constructor(options: InboundsWatchOptions) {
    this.#options = options;
  }

  /** The last trouble that was said; null while nothing is wrong. */
  get trouble(): string | null {
    return this.#trouble;
  }

  /** Judges what the file holds now. */
  look(document: ConfigurationDocument): void {
    const { path, log } = this.#options;
    const trouble = this.#troubleOf(document);
    if (trouble !== null && trouble !== this.#trouble) log.error({ file: path }, trouble);
    if (trouble === null && this.#trouble !== null) log.info({ file: path }, 'the file is live as it stands again');
    this.#trouble = trouble;
  }

  /** Notes that another program's write, which the file holds now, took changes of Keyway's back. */
  reverted(document: ConfigurationDocument): void {
    this.#isReverted = true;
    this.look(document);
  }

  #troubleOf(document: ConfigurationDocument): string | null {
    if (document.layout.name !== 'inbounds') return null;
    const trouble =
      legacyListTrouble(document, this.#options.legacyListReading) ?? (this.#isReverted ? 'is taken back' : null);
    return trouble === null ? null : TROUBLES[trouble];
  }
}
