import { useMemo } from 'preact/hooks';
import { useWords } from '../i18n/text.js';
import { qrCode } from '../text/qr-code.js';

/** The QR code of a text as one SVG path, or a sentence where the text is too long for one. */
export function Qr({ text, label }: { readonly text: string; readonly label: string }) {
  const words = useWords();
  const code = useMemo(() => pathOf(text), [text]);
  if (code === null) return <p class="hint">{words('key.qrTooLong')}</p>;
  return (
    <svg
      class="qr"
      viewBox={`0 0 ${code.size} ${code.size}`}
      role="img"
      aria-label={label}
      shape-rendering="crispEdges"
    >
      <path d={code.path} />
    </svg>
  );
}

/** Modules around a code that stay light. */
const BORDER = 3;

/** One stroke for each run of dark modules, so that a sheet of thousands stays small. */
function pathOf(text: string): { readonly size: number; readonly path: string } | null {
  const rows = qrCode(text);
  if (rows === null) return null;
  const strokes = rows.flatMap((row, y) =>
    [...row.matchAll(/1+/g)].map((run) => `M${run.index + BORDER} ${y + BORDER + 0.5}h${run[0].length}`),
  );
  return { size: rows.length + 2 * BORDER, path: strokes.join('') };
}
