import { encode } from 'uqr';

/** The code of a text as SVG with these attributes, its dark squares of one line in one stroke. */
export function qrSvg(text: string, attributes: string): string {
  const { data, size } = encode(text, { ecc: 'M', border: 4 });
  const strokes = data.flatMap((line, y) => darkRuns(line).map(([x, length]) => `M${x} ${y}h${length}v1h-${length}z`));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" ${attributes} shape-rendering="crispEdges">`,
    `<rect width="${size}" height="${size}" fill="#ffffff"/><path fill="#000000" d="${strokes.join('')}"/></svg>`,
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
