import { useRef, useState } from 'preact/hooks';
import { formatSize, formatSizeLike } from '../../src/text/sizes.js';
import { clockTime, dayTime, useWords, type Words } from '../i18n/text.js';
import { follows, type TrafficPoint } from '../state/history.js';
import { sizeMarks, timeMarks } from '../text/round-steps.js';
import { useWidth } from './width.js';

/** Pixels; the drawing is as wide as there is room, so that its words are never scaled. */
const FIRST_WIDTH = 720;
const TOP = 12;
const BOTTOM = 22;
const MARGIN = 76;
/** Between two marks of the time's axis, at least. */
const MARK = 110;

interface ChartProps {
  readonly points: readonly TrafficPoint[];
  readonly label: string;
  readonly height?: number;
}

/** Bytes per second down and up, each interval as it was seen; what was not seen stays empty. Pointer or arrow keys read single ones. */
export function TrafficChart(props: ChartProps) {
  const words = useWords();
  if (props.points.length === 0) return <p class="hint">{words('overview.chartWaiting')}</p>;
  return <Drawing {...props} />;
}

function Drawing({ points, label, height = 180 }: ChartProps) {
  const words = useWords();
  const svg = useRef<SVGSVGElement>(null);
  const figure = useRef<HTMLElement>(null);
  const width = useWidth(figure, FIRST_WIDTH);
  const [chosen, setChosen] = useState<number | null>(null);
  const scale = scaleOf(points, width, height);
  const last = points.at(-1);
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
    <figure ref={figure} class="chart" onPointerLeave={() => setChosen(null)}>
      <svg
        ref={svg}
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys read the points
        tabIndex={0}
        onPointerMove={move}
        onKeyDown={step}
        onFocus={() => setChosen(chosen ?? points.length - 1)}
        onBlur={() => setChosen(null)}
      >
        <Axes scale={scale} height={height} words={words} />
        {scale.gaps.map(({ from, to }) => (
          <rect key={from} class="chart-gap" x={from} width={to - from} y={TOP} height={height - BOTTOM - TOP} />
        ))}
        <path class="chart-area" d={scale.area} />
        {SIDES.map((side) => (
          <path key={side} class={`chart-line chart-${side}`} d={scale.line(side)} />
        ))}
        {at !== undefined && <Cursor at={at} scale={scale} height={height} />}
      </svg>
      <output class={at === undefined ? 'visually-hidden' : 'chart-card'} style={cardPlace(at, scale, width)}>
        {at !== undefined && <Readout at={at} />}
      </output>
      <figcaption class="line hint">
        {SIDES.map((side) => (
          <span key={side} class={`legend legend-${side}`}>
            {words(`side.${side}`)} {last !== undefined && perSecond(rate(last, side), words)}
          </span>
        ))}
        {scale.gaps.length > 0 && <span class="legend legend-gap">{words('key.notRecorded')}</span>}
      </figcaption>
    </figure>
  );
}

const SIDES = ['down', 'up'] as const;
type Side = (typeof SIDES)[number];

function Cursor({ at, scale, height }: { readonly at: TrafficPoint; readonly scale: Scale; readonly height: number }) {
  const x = scale.x((startOf(at) + at.time) / 2);
  return (
    <>
      <line class="chart-cursor" x1={x} x2={x} y1={TOP} y2={height - BOTTOM} />
      {SIDES.map((side) => (
        <circle key={side} class={`chart-dot chart-dot-${side}`} cx={x} cy={scale.y(rate(at, side))} r="4" />
      ))}
    </>
  );
}

/** On the side of the cursor that has more room. */
function cardPlace(at: TrafficPoint | undefined, { x }: Scale, width: number): { readonly [side: string]: string } {
  if (at === undefined) return { left: '0', right: '' };
  const place = x((startOf(at) + at.time) / 2);
  return place < width / 2 ? { left: `${place + 12}px`, right: '' } : { left: '', right: `${width - place + 12}px` };
}

/** An interval and what moved in it. */
function Readout({ at }: { readonly at: TrafficPoint }) {
  const words = useWords();
  const time = (value: number) => clockTime(value, words.language);
  return (
    <>
      <span class="quiet">
        {time(startOf(at))}–{time(at.time)}
      </span>
      {SIDES.map((side) => (
        <span key={side} class="chart-value">
          <span class="chart-pause"> · </span>
          <span class={`legend legend-${side}`}>{words(`side.${side}`)}</span>{' '}
          <strong>{perSecond(rate(at, side), words)}</strong>
        </span>
      ))}
    </>
  );
}

function perSecond(rate: number, words: Words): string {
  return words('overview.perSecond', { size: formatSize(Math.round(rate), words.language) });
}

interface Scale {
  readonly right: number;
  readonly most: number;
  /** Bytes per second between two marks. */
  readonly step: number;
  readonly from: number;
  readonly to: number;
  readonly gaps: readonly { readonly from: number; readonly to: number }[];
  readonly area: string;
  x(time: number): number;
  y(rate: number): number;
  timeAt(x: number): number;
  line(side: Side): string;
}

function rate(point: TrafficPoint, side: Side): number {
  return point[side] / Math.max(point.seconds, 0.001);
}

function startOf({ time, seconds }: TrafficPoint): number {
  return time - seconds * 1000;
}

function scaleOf(points: readonly TrafficPoint[], width: number, height: number): Scale {
  const first = points[0] === undefined ? 0 : startOf(points[0]);
  const last = points.at(-1)?.time ?? first;
  const span = Math.max(last - first, 1);
  const peak = points.reduce((most, point) => Math.max(most, rate(point, 'up'), rate(point, 'down')), 0);
  const { step, most } = sizeMarks(peak);
  const right = width - 8;
  const bottom = height - BOTTOM;
  const x = (time: number) => Math.round((MARGIN + ((time - first) / span) * (right - MARGIN)) * 10) / 10;
  const y = (value: number) => Math.round((bottom - (value / most) * (bottom - TOP)) * 10) / 10;
  const runs = unbroken(points);
  const steps = (run: readonly TrafficPoint[], side: Side) =>
    run.map((point) => `V${y(rate(point, side))}H${x(point.time)}`).join('');
  const begin = (run: readonly TrafficPoint[]) => x(run[0] === undefined ? first : startOf(run[0]));
  return {
    right,
    most,
    step,
    from: first,
    to: last,
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

function nearest(points: readonly TrafficPoint[], time: number): number {
  const away = points.map((point) => Math.abs(point.time - time));
  return away.indexOf(Math.min(...away));
}

interface AxesProps {
  readonly scale: Scale;
  readonly height: number;
  readonly words: Words;
}

function Axes({ scale, height, words }: AxesProps) {
  const { from, to, most, step, right } = scale;
  const levels = Array.from({ length: Math.round(most / step) + 1 }, (_, index) => index * step);
  const times = timeMarks(from, to, Math.max(1, Math.floor((right - MARGIN) / MARK)));
  const isFine = times.some((time) => time % 60_000 !== 0);
  return (
    <g class="chart-axes">
      {levels.map((level) => (
        <g key={level}>
          <line x1={MARGIN} x2={right} y1={scale.y(level)} y2={scale.y(level)} />
          <text x={MARGIN - 8} y={scale.y(level) + 4} text-anchor="end">
            {level === 0 ? '0' : words('overview.perSecond', { size: formatSizeLike(most, level, words.language) })}
          </text>
        </g>
      ))}
      {times.map((time) => (
        <text key={time} x={scale.x(time)} y={height - 5} text-anchor={anchorAt(scale.x(time), right)}>
          {(isFine ? clockTime : dayTime)(time, words.language)}
        </text>
      ))}
    </g>
  );
}

/** Keeps the words of a mark at the edge inside the drawing. */
function anchorAt(x: number, right: number): 'end' | 'middle' | 'start' {
  return x < MARGIN + 24 ? 'start' : x > right - 24 ? 'end' : 'middle';
}

const WIDTH = 96;
const HEIGHT = 22;
/** Points drawn: a quarter of an hour of refreshes. */
const MOST = 180;

/** The shape of a key's traffic, without figures; empty where nothing moved. It repeats what the key's own page tells. */
export function Sparkline({ points }: { readonly points: readonly TrafficPoint[] }) {
  const drawn = points.slice(-MOST);
  const rates = drawn.map((point) => rate(point, 'up') + rate(point, 'down'));
  const peak = Math.max(...rates, 1);
  const step = WIDTH / Math.max(rates.length - 1, 1);
  const at = rates.map(
    (rate, index) => `${(index * step).toFixed(1)} ${(HEIGHT - 1 - (rate / peak) * (HEIGHT - 3)).toFixed(1)}`,
  );
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      {at.length > 1 && <path d={`M${at.join('L')}`} />}
    </svg>
  );
}
