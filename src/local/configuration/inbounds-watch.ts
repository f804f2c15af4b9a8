import type { LogPort } from '../../core/ports.js';
import type { FileState } from './file-state.js';
import type { ConfigurationFormat } from './known-file.js';

export interface InboundsWatchOptions<D extends { readonly bytes: Buffer }> {
  readonly path: string;
  readonly log: LogPort;
  readonly state: FileState;
  readonly format: Pick<ConfigurationFormat<D>, 'trouble'>;
}

/** Says once what of a file with inbounds is not live because a server writes it, too (design: "Saving keys"). */
export class InboundsWatch<D extends { readonly bytes: Buffer }> {
  readonly #options: InboundsWatchOptions<D>;
  /** Another program took changes of Keyway's back: only a start of Keyway's can tell that it is gone. */
  #isTakenBack = false;

  constructor(options: InboundsWatchOptions<D>) {
    this.#options = options;
  }

  /** The file holds this now. */
  look(document: D): void {
    const { path, log, state, format } = this.#options;
    const trouble = format.trouble(document, { isTakenBack: this.#isTakenBack });
    if (trouble !== null && trouble !== state.inboundsError) log.error({ file: path }, trouble);
    if (trouble === null && state.inboundsError !== null)
      log.info({ file: path }, 'the file is live as it stands again');
    state.inboundsError = trouble;
  }

  /** Another program's write, which the file holds now, took changes of Keyway's back. */
  tookBack(document: D): void {
    this.#isTakenBack = true;
    this.look(document);
  }
}
