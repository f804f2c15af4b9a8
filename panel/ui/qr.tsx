import { useMemo } from 'preact/hooks';
import { encode } from 'uqr';
import { useWords } from '../i18n/text.js';

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

/** One stroke for each run of dark modules, so that a sheet of thousands stays small. */
function pathOf(text: string): { readonly size: number; readonly path: string } | null {
  try {
    const { data, size } = encode(text, { ecc: 'M', border: 3 });
    const strokes = data.flatMap((row, y) => {
      const line = row.map((dark) => (dark ? '1' : '0')).join('');
      return [...line.matchAll(/1+/g)].map((run) => `M${run.index} ${y + 0.5}h${run[0].length}`);
    });
    return { size, path: strokes.join('') };
  } catch {
    return null;
  }
}
