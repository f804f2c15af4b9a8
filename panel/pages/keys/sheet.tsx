import { useEffect, useMemo, useState } from 'preact/hooks';
import { useWords } from '../../i18n/text.js';
import { visible } from '../../text/visible.js';
import { Button } from '../../ui/button.js';
import { Dialog } from '../../ui/dialog.js';
import { Qr } from '../../ui/qr.js';
import { type LinkedKey, sheet } from './handout.js';

/** Codes drawn between two frames. */
const AT_ONCE = 20;

/** QR codes to print and cut, with name and key below each. They are drawn in portions, so that the page goes on. */
export function QrSheet({ keys }: { readonly keys: readonly LinkedKey[] }) {
  const words = useWords();
  const [drawn, setDrawn] = useState(AT_ONCE);
  const ready = drawn >= keys.length;
  useEffect(() => {
    if (ready) return;
    const timer = setTimeout(() => setDrawn(drawn + AT_ONCE));
    return () => clearTimeout(timer);
  }, [drawn, ready]);
  const progress = words('batch.progress', { done: Math.min(drawn, keys.length), n: keys.length });
  return (
    <Dialog title={words('bulk.sheetTitle')} kind="wide" onClose={() => sheet.set(null)}>
      <div class="dialog-body">
        <div class="buttons no-print">
          <Button kind="primary" icon="print" disabled={!ready} onClick={() => window.print()}>
            {words('action.print')}
          </Button>
          {!ready && (
            <span class="progress">
              <progress max={keys.length} value={drawn} aria-label={progress} /> {progress}
            </span>
          )}
        </div>
        <ul class="sheet">
          {Array.from({ length: Math.ceil(Math.min(drawn, keys.length) / AT_ONCE) }, (_, part) => (
            <Portion key={part} keys={keys} from={part * AT_ONCE} />
          ))}
        </ul>
      </div>
    </Dialog>
  );
}

/** The same drawing at every later turn: what it shows does not change while the sheet is open. */
function Portion({ keys, from }: { readonly keys: readonly LinkedKey[]; readonly from: number }) {
  const words = useWords();
  return useMemo(
    () => (
      <>
        {keys.slice(from, from + AT_ONCE).map(({ key, name, link }) => (
          <li key={key}>
            <Qr text={link} label={words('key.qr.link')} />
            {name !== '' && <strong>{visible(name)}</strong>}
            <code>{visible(key)}</code>
          </li>
        ))}
      </>
    ),
    [keys, from, words],
  );
}
