import type { TrafficPoint } from '../state/history.js';

const WIDTH = 96;
const HEIGHT = 22;
/** Points drawn: a quarter of an hour of refreshes. */
const MOST = 180;

/** The shape of a key's traffic, without figures; empty where nothing moved. It repeats what the key's own page tells. */
export function Sparkline({ points }: { readonly points: readonly TrafficPoint[] }) {
  const drawn = points.slice(-MOST);
  const rates = drawn.map(({ up, down, seconds }) => (up + down) / Math.max(seconds, 0.001));
  const peak = Math.max(...rates, 1);
  const step = WIDTH / Math.max(rates.length - 1, 1);
  const at = rates.map(
    (rate, index) => `${(index * step).toFixed(1)} ${(HEIGHT - 1 - (rate / peak) * (HEIGHT - 3)).toFixed(1)}`,
  );
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      {at.length === 1 && <circle cx={WIDTH / 2} cy={HEIGHT / 2} r="2" />}
      {at.length > 1 && <path d={`M${at.join('L')}`} />}
    </svg>
  );
}
