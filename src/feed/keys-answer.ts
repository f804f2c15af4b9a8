import { Readable } from 'node:stream';
import { Cursors } from '../core/keys/cursor.js';
import type { KeyEntry, KeyReader } from '../core/keys/types.js';
import type { ClockPort, RandomPort } from '../core/ports.js';
import { SharedAnswers } from '../core/shared-answers.js';

/** The state that a caller of `GET /v1/keys` has, by the words of its request. */
export interface KeysQuery {
  /** The version of `since`; null when it was not given. */
  readonly since: string | null;
  /** The values of `If-None-Match`. */
  readonly known: readonly string[];
}

/** Keys that are written in one turn of the event loop. */
const KEYS_AT_ONCE = 2_000;

export function createKeysAnswers(
  keys: KeyReader,
  { clock, random }: { readonly clock: Pick<ClockPort, 'monotonic'>; readonly random: RandomPort },
) {
  /** Its mark tells versions of this process from those of another. */
  const cursors = new Cursors(random.bytes(6).toString('hex'));
  const version = () => cursors.text(keys.admissions.version);

  function changedSince(since: string | null): readonly string[] | null {
    const [count] = cursors.numbers(since ?? '', 1) ?? [];
    return count === undefined ? null : keys.admissions.since(count);
  }

  /** All who waited for a change are told the same. */
  const shared = new SharedAnswers<Buffer>(clock);

  function bodyOf(changed: readonly string[]): Buffer {
    const present = changed.flatMap((accessKey) => keys.get(accessKey) ?? []);
    const removed = changed.filter((accessKey) => keys.get(accessKey) === undefined);
    return Buffer.from(
      `${opening(version(), false)}${present.map(keyText).join(',')}],"removed":${JSON.stringify(removed)}}`,
    );
  }

  return {
    /** The mark of everything as it is now: this process's own and a count of changes. */
    version,
    /** Tells whether the caller has all of it. */
    isCurrent: ({ since, known }: KeysQuery): boolean =>
      since === version() || (since === null && known.includes(version())),
    /** The changes since the version that the caller has, or everything where these are not known. */
    body({ since }: KeysQuery): Buffer | Readable {
      const changed = changedSince(since);
      if (changed === null) return Readable.from(everything(keys, version()), { objectMode: false });
      return shared.of(version(), since ?? '', () => bodyOf(changed));
    },
  };
}

function opening(version: string, isComplete: boolean): string {
  return `{"version":"${version}","complete":${isComplete},"keys":[`;
}

function keyText({ accessKey, limitBytes, overLimit }: KeyEntry): string {
  return `{"access_key":${JSON.stringify(accessKey)},"limit_bytes":${limitBytes},"over_limit":${overLimit}}`;
}

/**
 * The whole list, some keys at a time, so that others are answered meanwhile. It says the version of its beginning: what
 * changes while it goes out may be in it or not, and is among the changes since that version.
 */
async function* everything(keys: KeyReader, version: string): AsyncGenerator<Buffer> {
  let part: string[] = [];
  let text = opening(version, true);
  let separator = '';
  for (const key of keys.entries()) {
    part.push(keyText(key));
    if (part.length < KEYS_AT_ONCE) continue;
    yield Buffer.from(text + separator + part.join(','));
    text = '';
    separator = ',';
    part = [];
    await new Promise(setImmediate);
  }
  yield Buffer.from(`${text}${part.length > 0 ? separator : ''}${part.join(',')}],"removed":[]}`);
}
