import { encode } from 'uqr';

/** The code of a text as the servers draw it; another encoder than theirs may choose other squares. */
export function qrPicture(text: string): string {
  const { data, size } = encode(text, { ecc: 'M', border: 4 });
  const side = Math.ceil(240 / size);
  const width = size * side;
  let path = '';
  for (const [row, line] of data.entries())
    for (const [column, isDark] of line.entries())
      if (isDark) path += `M${column * side} ${row * side}h${side}v${side}H${column * side}V${row * side}`;
  return (
    `<?xml version="1.0" standalone="yes"?><svg xmlns="http://www.w3.org/2000/svg" version="1.1" width="${width}" ` +
    `height="${width}" viewBox="0 0 ${width} ${width}" shape-rendering="crispEdges"><rect x="0" y="0" width="${width}" ` +
    `height="${width}" fill="#ffffff"/><path fill="#000000" d="${path}"/></svg>`
  );
}
