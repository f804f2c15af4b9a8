import { useRef, useState } from 'preact/hooks';
import { clockTime, useWords, type Words } from '../i18n/text.js';
import { follows, type TrafficPoint } from '../state/history.js';
import { formatSize } from '../text/sizes.js';
import { useWidth } from './width.js';

/** Pixels; the drawing is as wide as there is room, so that its words are never scaled. */
const FIRST_WIDTH = 720;
const TOP = 12;
const BOTTOM = 22;
const MARGIN = 76;

interface ChartProps {
  readonly points: readonly TrafficPoint[];
  readonly label: string;
  readonly height?: number;
}

/** Bytes per second down and up, each interval as it was seen; what was not seen stays empty. Hover or arrow keys read single ones. */
export function TrafficChart(props: ChartProps) {
  const words = useWords();
  if (props.points.length === 0) return <p class="chart-empty hint">{words('overview.chartWaiting')}</p>;
  return <Drawing {...props} />;
}

function Drawing({ points, label, height = 180 }: ChartProps) {
  const words = useWords();
  const svg = useRef<SVGSVGElement>(null);
  const figure = useRef<HTMLElement>(null);
  const width = useWidth(figure, FIRST_WIDTH);
  const [chosen, setChosen] = useState<number | null>(null);
  const scale = scaleOf(points, width, height);
  const at = chosen === null ? undefined : points[Math.min(chosen, points.length - 1)];
  const move = (event: PointerEvent) => {
    const box = svg.current?.getBoundingClientRect();
    if (box === undefined) return;
    setChosen(nearest(points, scale.timeAt(((event.clientX - box.left) / box.width) * width)));
  };
  const step = (event: KeyboardEvent) => {
    const by = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0;
    if (by === 0) return;
    event.preventDefault();
    setChosen(Math.max(0, Math.min(points.length - 1, (chosen ?? points.length) + by)));
  };
  return (
    <figure ref={figure} class="chart" onPointerMove={move} onPointerLeave={() => setChosen(null)}>
      <svg
        ref={svg}
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`${label}. ${at === undefined ? '' : readout(at, words)}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys read the points
        tabIndex={0}
        onKeyDown={step}
        onBlur={() => setChosen(null)}
      >
        <Axes scale={scale} height={height} words={words} points={points} />
        {scale.gaps.map(({ from, to }) => (
          <rect key={from} class="chart-gap" x={from} width={to - from} y={TOP} height={height - BOTTOM - TOP} />
        ))}
        <path class="chart-area" d={scale.area} />
        <path class="chart-line chart-down" d={scale.line('down')} />
        <path class="chart-line chart-up" d={scale.line('up')} />
        {at !== undefined && (
          <line class="chart-cursor" x1={scale.x(at.time)} x2={scale.x(at.time)} y1={TOP} y2={height - BOTTOM} />
        )}
      </svg>
      <figcaption>
        <span class="legend legend-down">{words('keys.down')}</span>
        <span class="legend legend-up">{words('keys.up')}</span>
        {scale.gaps.length > 0 && <span class="legend legend-gap">{words('key.notRecorded')}</span>}
        <output>{readout(at ?? points[points.length - 1], words)}</output>
      </figcaption>
    </figure>
  );
}

interface Scale {
  readonly right: number;
  readonly most: number;
  readonly gaps: readonly { readonly from: number; readonly to: number }[];
  readonly area: string;
  x(time: number): number;
  y(rate: number): number;
  timeAt(x: number): number;
  line(side: 'up' | 'down'): string;
}

function rate(point: TrafficPoint, side: 'up' | 'down'): number {
  return point[side] / Math.max(point.seconds, 0.001);
}

function startOf({ time, seconds }: TrafficPoint): number {
  return time - seconds * 1000;
}

function scaleOf(points: readonly TrafficPoint[], width: number, height: number): Scale {
  const first = points[0] === undefined ? 0 : startOf(points[0]);
  const last = points[points.length - 1]?.time ?? first;
  const span = Math.max(last - first, 1);
  const peak = points.reduce((most, point) => Math.max(most, rate(point, 'up'), rate(point, 'down')), 0);
  const most = roundUp(peak);
  const right = width - 8;
  const bottom = height - BOTTOM;
  const x = (time: number) => Math.round((MARGIN + ((time - first) / span) * (right - MARGIN)) * 10) / 10;
  const y = (value: number) => Math.round((bottom - (value / most) * (bottom - TOP)) * 10) / 10;
  const runs = unbroken(points);
  const steps = (run: readonly TrafficPoint[], side: 'up' | 'down') =>
    run.map((point) => `V${y(rate(point, side))}H${x(point.time)}`).join('');
  const begin = (run: readonly TrafficPoint[]) => x(run[0] === undefined ? first : startOf(run[0]));
  return {
    right,
    most,
    x,
    y,
    timeAt: (position) => first + ((position - MARGIN) / (right - MARGIN)) * span,
    gaps: runs.slice(1).map((run, index) => ({ from: x(runs[index]?.at(-1)?.time ?? first), to: begin(run) })),
    area: runs.map((run) => `M${begin(run)} ${bottom}${steps(run, 'down')}V${bottom}Z`).join(''),
    line: (side) =>
      runs
        .map((run) => `M${begin(run)} ${y(run[0] === undefined ? 0 : rate(run[0], side))}${steps(run, side)}`)
        .join(''),
  };
}

/** The points in runs between which something was not seen. */
function unbroken(points: readonly TrafficPoint[]): readonly (readonly TrafficPoint[])[] {
  const runs: TrafficPoint[][] = [];
  points.forEach((point, index) => {
    const before = points[index - 1];
    if (before !== undefined && follows(before, point)) runs[runs.length - 1]?.push(point);
    else runs.push([point]);
  });
  return runs;
}

/** The next of 1, 2, 4, … 512 in a binary unit, so that the axis reads well. */
function roundUp(value: number): number {
  let step = 1024;
  while (step < value) step *= 2;
  return step;
}

function nearest(points: readonly TrafficPoint[], time: number): number {
  let best = 0;
  points.forEach((point, index) => {
    if (Math.abs(point.time - time) < Math.abs((points[best]?.time ?? 0) - time)) best = index;
  });
  return best;
}

function readout(point: TrafficPoint | undefined, words: Words): string {
  if (point === undefined) return '';
  const side = (name: 'up' | 'down') =>
    `${words(name === 'up' ? 'keys.up' : 'keys.down')} ${words('overview.perSecond', { size: formatSize(Math.round(rate(point, name)), words.language) })}`;
  return `${clockTime(startOf(point), words.language)}–${clockTime(point.time, words.language)} · ${side('down')} · ${side('up')}`;
}

interface AxesProps {
  readonly scale: Scale;
  readonly height: number;
  readonly words: Words;
  readonly points: readonly TrafficPoint[];
}

function Axes({ scale, height, words, points }: AxesProps) {
  const start = points[0] === undefined ? 0 : startOf(points[0]);
  const end = points[points.length - 1]?.time ?? start;
  const parts = Math.max(1, Math.floor((scale.right - MARGIN) / 170));
  const ticks = Array.from({ length: parts + 1 }, (_, index) => index / parts);
  return (
    <g class="chart-axes">
      {[0, 0.5, 1].map((part) => (
        <g key={part}>
          <line x1={MARGIN} x2={scale.right} y1={scale.y(scale.most * part)} y2={scale.y(scale.most * part)} />
          <text x={MARGIN - 8} y={scale.y(scale.most * part) + 4} text-anchor="end">
            {part === 0 ? '0' : words('overview.perSecond', { size: formatSize(scale.most * part, words.language) })}
          </text>
        </g>
      ))}
      {ticks.map((part) => (
        <text
          key={part}
          x={MARGIN + part * (scale.right - MARGIN)}
          y={height - 5}
          text-anchor={part === 0 ? 'start' : part === 1 ? 'end' : 'middle'}
        >
          {clockTime(start + part * (end - start), words.language)}
        </text>
      ))}
    </g>
  );
}

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
