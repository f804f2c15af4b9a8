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

function pathOf(text: string): { readonly size: number; readonly path: string } | null {
  try {
    const { data, size } = encode(text, { ecc: 'M', border: 3 });
    const path = data.map((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : '')).join('')).join('');
    return { size, path };
  } catch {
    return null;
  }
}
