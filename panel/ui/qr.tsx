import { correction, generate } from 'lean-qr/nano';
import { useMemo, useState } from 'preact/hooks';
import { useWords } from '../i18n/text.js';
import { Dialog } from './dialog.js';

/** Light modules around a code. */
const BORDER = 3;

/** The QR code of a text as one SVG path, or a sentence where the text is too long for one. */
export function Qr({ text, label }: { readonly text: string; readonly label: string }) {
  const words = useWords();
  const code = useMemo(() => drawn(text), [text]);
  if (code === null) return <p class="hint">{words('key.qrTooLong')}</p>;
  const room = code.size + 2 * BORDER;
  return (
    <svg
      class="qr"
      viewBox={`${-BORDER} ${-BORDER} ${room} ${room}`}
      role="img"
      aria-label={label}
      shape-rendering="crispEdges"
    >
      <path d={code.path} />
    </svg>
  );
}

/** A QR code that fills the window at a touch, for a scan from a distance. */
export function LargeQr({ text, label }: { readonly text: string; readonly label: string }) {
  const words = useWords();
  const [isLarge, setLarge] = useState(false);
  return (
    <>
      <button type="button" class="qr-button" title={words('key.qr.large')} onClick={() => setLarge(true)}>
        <Qr text={text} label={label} />
      </button>
      {isLarge && (
        <Dialog title={label} kind="full" onClose={() => setLarge(false)}>
          <button type="button" class="qr-button" title={words('action.close')} onClick={() => setLarge(false)}>
            <Qr text={text} label={label} />
          </button>
        </Dialog>
      )}
    </>
  );
}

/** Draws a code with one stroke for each run of dark modules, so that a sheet of thousands stays small. */
function drawn(text: string): { readonly size: number; readonly path: string } | null {
  try {
    const { size, get } = generate(text, { minCorrectionLevel: correction.M });
    const places = Array.from({ length: size }, (_, place) => place);
    const strokes = places.flatMap((y) =>
      [
        ...places
          .map((x) => Number(get(x, y)))
          .join('')
          .matchAll(/1+/g),
      ].map(({ index, 0: { length } }) => `M${index} ${y + 0.5}h${length}`),
    );
    return { size, path: strokes.join('') };
  } catch {
    // The largest code holds some 2,330 bytes.
    return null;
  }
}
