import { formatLimit, formatSize } from '../../src/text/sizes.js';
import type { Whole } from '../../src/text/whole.js';
import { useWords } from '../i18n/text.js';

interface SizeProps {
  readonly bytes: Whole;
}

/** A size in binary units, with the exact bytes on hover. */
export function Size({ bytes }: SizeProps) {
  const words = useWords();
  return <span title={words('keys.exact', { n: bytes })}>{formatSize(bytes, words.language)}</span>;
}

/** A limit in the unit in which it is whole, with the exact bytes on hover. */
export function LimitSize({ bytes }: SizeProps) {
  const words = useWords();
  return <span title={words('keys.exact', { n: bytes })}>{formatLimit(bytes, words.language)}</span>;
}
