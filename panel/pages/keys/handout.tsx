import { useEffect, useMemo, useState } from 'preact/hooks';
import { useWords } from '../../i18n/text.js';
import { clientLink } from '../../state/client-links.js';
import { keyTable, type LinkedKey } from '../../state/key-table.js';
import type { NamedKey } from '../../state/named-keys.js';
import { useTask } from '../../state/tasks.js';
import { say } from '../../state/toasts.js';
import { useWorkspace, type Workspace } from '../../state/workspace.js';
import { createStore, useStore } from '../../store/store.js';
import { csvTable, jsonLines } from '../../text/tables.js';
import { visible } from '../../text/visible.js';
import { Button } from '../../ui/button.js';
import { Dialog } from '../../ui/dialog.js';
import { download } from '../../ui/download.js';
import type { IconName } from '../../ui/icon.js';
import { Failure, Progress } from '../../ui/notice.js';
import { Qr } from '../../ui/qr.js';
import { handOut } from './client-address.js';

/** The keys on the printable sheet, or null; the app shows it instead of the pages. */
export const sheet = createStore<readonly LinkedKey[] | null>(null);

/** Buttons that give keys out: a table, their links, or a sheet of QR codes to print. */
export function Handout({ keys }: { readonly keys: () => readonly NamedKey[] }) {
  const words = useWords();
  const workspace = useWorkspace();
  const { busy, error, run } = useTask();
  const open = useStore(sheet);
  const button = (icon: IconName, label: string, use: (linked: readonly LinkedKey[]) => void) => (
    <Button icon={icon} onClick={() => run(() => handOut(async () => use(await linksOf(workspace, keys()))))}>
      {label}
    </Button>
  );
  const tableOf = (linked: readonly LinkedKey[]) => keyTable(linked, workspace.users.state.get());
  return (
    <div class="stack tight handout" hidden={open !== null}>
      <Failure of={error} />
      <div class="line">
        {button('table', words('bulk.csv'), (linked) => download('keys', 'csv', csvTable(tableOf(linked))))}
        {button('download', words('bulk.json'), (linked) => download('keys', 'json', jsonLines(tableOf(linked))))}
        {button('link', words('bulk.links'), (linked) => download('keys', 'txt', linesOf(linked)))}
        {button('qr', words('bulk.sheet'), sheet.set)}
      </div>
      {busy && <progress aria-label={words('login.checking')} />}
    </div>
  );
}

/**
 * Every key's share link. All links of a server differ in the key alone, so where the first shows plainly how, the others
 * are made from it; keys with characters that a link might escape are asked for one by one.
 */
async function linksOf(workspace: Workspace, keys: readonly NamedKey[]): Promise<readonly LinkedKey[]> {
  const linked: LinkedKey[] = [];
  let pattern: readonly string[] | null = null;
  for (const { key, name } of keys) {
    const plain = /^[\w-]+$/.test(key);
    if (plain && pattern !== null) {
      linked.push({ key, name, link: pattern.join(key) });
      continue;
    }
    const { text: link, unreachable } = await clientLink(workspace, key);
    if (unreachable !== null) say('bad', (words) => words('address.named', { host: unreachable }));
    linked.push({ key, name, link });
    const parts = link.split(`//${key}@`);
    if (plain && parts.length === 2 && link.split(key).length === 2) pattern = [`${parts[0]}//`, `@${parts[1]}`];
  }
  return linked;
}

function linesOf(linked: readonly LinkedKey[]): string {
  return `${linked.map(({ link }) => link).join('\n')}\n`;
}

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
        <div class="line no-print">
          <Button kind="primary" icon="print" off={!ready && progress} onClick={() => window.print()}>
            {words('action.print')}
          </Button>
          {!ready && <Progress done={drawn} total={keys.length} />}
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
