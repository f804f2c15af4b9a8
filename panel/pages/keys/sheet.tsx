import { useWords } from '../../i18n/text.js';
import { Dialog } from '../../ui/dialog.js';
import { Icon } from '../../ui/icon.js';
import { Qr } from '../../ui/qr.js';
import { type LinkedKey, sheet } from './handout.js';

/** QR codes to print and cut, with name and key below each. */
export function QrSheet({ keys }: { readonly keys: readonly LinkedKey[] }) {
  const words = useWords();
  return (
    <Dialog title={words('bulk.sheetTitle')} kind="wide" onClose={() => sheet.set(null)}>
      <div class="dialog-body">
        <div class="buttons no-print">
          <button type="button" class="button button-primary" onClick={() => window.print()}>
            <Icon name="print" /> {words('action.print')}
          </button>
        </div>
        <ul class="sheet">
          {keys.map(({ key, name, link }) => (
            <li key={key}>
              <Qr text={link} label={words('key.qr')} />
              {name !== '' && <strong>{name}</strong>}
              <code>{key}</code>
            </li>
          ))}
        </ul>
      </div>
    </Dialog>
  );
}
