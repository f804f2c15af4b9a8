import { encode } from 'uqr';

/** Light modules around a code. */
const BORDER = 4;

/** The code of a text as SVG with these attributes: one line of small steps, half the bytes of a line in absolute places. */
export function qrSvg(text: string, attributes: string): string {
  const { data, size } = encode(text, { ecc: 'M', border: BORDER });
  let strokes = '';
  for (const [y, line] of data.entries()) {
    let end: number | null = null;
    for (const [x, length] of darkRuns(line)) {
      strokes += `${end === null ? `M${x} ${y}` : `m${x - end} 0`}h${length}`;
      end = x + length;
    }
  }
  // A stroke lies on both sides of its line.
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 -.5 ${size} ${size}" ${attributes} shape-rendering="crispEdges">`,
    `<rect y="-.5" width="${size}" height="${size}" fill="#fff"/><path stroke="#000" d="${strokes}"/></svg>`,
  ].join('');
}

/** Pixels that a picture is wide at least. */
const LEAST_WIDTH = 240;

/** The code of a text as servers from 0.4.6 on draw it: a whole document with a size in pixels, each dark square by itself. */
export function qrDocument(text: string): string {
  const { data, size } = encode(text, { ecc: 'M', border: BORDER });
  const side = Math.ceil(LEAST_WIDTH / size);
  const width = size * side;
  const squareAt = (x: number, y: number) => `M${x} ${y}h${side}v${side}H${x}V${y}`;
  const squares = data.flatMap((line, y) =>
    line.flatMap((isDark, x) => (isDark ? [squareAt(x * side, y * side)] : [])),
  );
  return [
    '<?xml version="1.0" standalone="yes"?>',
    `<svg xmlns="http://www.w3.org/2000/svg" version="1.1" width="${width}" height="${width}" viewBox="0 0 ${width} ${width}" shape-rendering="crispEdges">`,
    `<rect x="0" y="0" width="${width}" height="${width}" fill="#ffffff"/>`,
    `<path fill="#000000" d="${squares.join('')}"/></svg>`,
  ].join('');
}

/** Returns the runs of dark squares in a line: the place of the first, and their number. */
function darkRuns(line: readonly boolean[]): readonly (readonly [number, number])[] {
  const runs: [number, number][] = [];
  for (const [x, isDark] of line.entries()) {
    const last = runs.at(-1);
    if (!isDark) continue;
    if (last !== undefined && last[0] + last[1] === x) last[1] += 1;
    else runs.push([x, 1]);
  }
  return runs;
}
