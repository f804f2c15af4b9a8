import { useWords } from '../i18n/text.js';
import type { Whole } from '../text/exact-json.js';
import { formatSize } from '../text/sizes.js';

/** A size in binary units, with the exact bytes on hover. */
export function Size({ bytes }: { readonly bytes: Whole }) {
  const words = useWords();
  return <span title={words('keys.exact', { n: bytes })}>{formatSize(bytes, words.language)}</span>;
}
