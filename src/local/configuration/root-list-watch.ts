import { keyDigest } from '../../core/key-digest.js';
import type { AccessKey } from '../../core/model.js';
import type { LogPort } from '../../core/ports.js';
import { failureWords } from '../../platform/failure-words.js';
import type { FileState } from './file-state.js';
import type { ConfigurationFormat } from './known-file.js';

/** Watches over a root list beside inbounds, which servers from 0.3.7 on write (design: "Saving keys"). */
export interface RootListWatch<D> {
  /** The file holds this now: says what is wrong with it, once. */
  look(document: D): void;
  /** The document to write instead: mended, where that is asked for and needed, else the same. */
  mended(document: D): D;
}

export interface RootListWatchOptions<D extends { readonly bytes: Buffer }> {
  readonly path: string;
  readonly log: LogPort;
  readonly state: FileState;
  readonly format: ConfigurationFormat<D>;
  /** Whether it is mended without being asked each time. */
  readonly mends: boolean;
}

export function createRootListWatch<D extends { readonly bytes: Buffer }>(
  { path, log, state, format, mends }: RootListWatchOptions<D>,
  first: D,
): RootListWatch<D> {
  /** It was there before Keyway: nobody knows how old it is. */
  let wasThere = format.hasRootList(first);

  function look(document: D): void {
    wasThere &&= format.hasRootList(document);
    const trouble = format.trouble(document, { wasThere });
    if (trouble !== null && trouble !== state.rootListError) log.error({ file: path }, trouble);
    if (trouble === null && state.rootListError !== null) log.info({ file: path }, 'access_keys is mended');
    state.rootListError = trouble;
    state.mends = mends && format.mend(document, context()) !== null;
  }

  const context = () => ({ isFresh: !wasThere, isOurs: state.unread.has });

  function mended(document: D): D {
    if (!state.mends) return document;
    try {
      const done = format.mend(document, context());
      if (done === null) return document;
      const { added, updated, removed, left } = done;
      const counts = { added: shown(added), updated: shown(updated), removed: shown(removed), left: shown(left) };
      log.warn({ file: path, ...counts }, 'access_keys beside inbounds is taken over into them');
      return done.document;
    } catch (error) {
      state.mends = false;
      log.error({ file: path, reason: failureWords(error) }, 'access_keys beside inbounds could not be taken over');
      return document;
    }
  }

  look(first);
  return { look, mended };
}

/** So many keys of a kind are named. */
const SHOWN = 20;

function shown(keys: readonly AccessKey[]) {
  return { keys: keys.length, named: keys.slice(0, SHOWN).map(({ accessKey }) => keyDigest(accessKey)) };
}
