import { numberFormat } from '../../../src/text/number-format.js';
import { formatLimit, formatSize, isDecimal } from '../../../src/text/sizes.js';
import type { Whole } from '../../../src/text/whole.js';
import type { User } from '../../api/wire.js';
import { useWords, type Words } from '../../i18n/text.js';
import { isConnected, statusOf, usedBytes, usedPart } from '../../state/key-list.js';
import { Size } from '../../ui/size.js';

/** The one word for a key's state in its colour, and a dot where the word is another one and the key is online. */
export function Status({ user }: { readonly user: User }) {
  const words = useWords();
  const status = statusOf(user);
  const word = words(`keys.status.${status}`);
  const online = words('keys.status.online');
  return (
    <>
      <span class={`hint status status-${status}`} title={word}>
        {word}
      </span>
      {status !== 'online' && isConnected(user) && (
        <span class="online-dot" role="img" aria-label={online} title={online} />
      )}
    </>
  );
}

/** The used bytes beside the limit, in its units. */
function usedOfLimit(user: User, limit: Whole, words: Words): string {
  const used = formatSize(usedBytes(user), words.language, isDecimal(limit));
  return words('keys.ofLimit', { used, limit: formatLimit(limit, words.language) });
}

/** The used bytes, with the limit that they are of. */
export function UsedOfLimit({ user }: { readonly user: User }) {
  const words = useWords();
  if (user.limit_bytes !== null) return <>{usedOfLimit(user, user.limit_bytes, words)}</>;
  return (
    <>
      <Size bytes={usedBytes(user)} /> <span class="quiet">· {words('keys.unlimited')}</span>
    </>
  );
}

/** The used part of the limit, as a bar and in per cent. */
export function Usage({ user }: { readonly user: User }) {
  const words = useWords();
  const part = usedPart(user);
  if (part === null || user.limit_bytes === null) return <span class="quiet">—</span>;
  const status = statusOf(user);
  const tone = status === 'over' || status === 'near' ? `usage-${status}` : '';
  const text = usedOfLimit(user, user.limit_bytes, words);
  const percent = numberFormat(words.language, { style: 'percent', maximumFractionDigits: 0 });
  return (
    <span class={`line nowrap grow usage ${tone}`} title={text}>
      <span class="usage-bar">
        <span style={{ width: `${Math.min(100, part * 100)}%` }} />
      </span>
      <span class="usage-text">{percent.format(Math.floor(Math.min(part, 99) * 100) / 100)}</span>
    </span>
  );
}
