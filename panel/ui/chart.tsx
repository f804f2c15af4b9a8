import { useRef, useState } from 'preact/hooks';
import { clockTime, useWords, type Words } from '../i18n/text.js';
import type { TrafficPoint } from '../state/history.js';
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

/** Bytes per second down and up over time, from what the page saw; hover or arrow keys read single points. */
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
        <path class="chart-area" d={`${scale.line('down')}V${height - BOTTOM}H${scale.x(points[0]?.time ?? 0)}Z`} />
        <path class="chart-line chart-down" d={scale.line('down')} />
        <path class="chart-line chart-up" d={scale.line('up')} />
        {at !== undefined && (
          <line class="chart-cursor" x1={scale.x(at.time)} x2={scale.x(at.time)} y1={TOP} y2={height - BOTTOM} />
        )}
      </svg>
      <figcaption>
        <span class="legend legend-down">{words('overview.down.short')}</span>
        <span class="legend legend-up">{words('overview.up.short')}</span>
        <output>{readout(at ?? points[points.length - 1], words)}</output>
      </figcaption>
    </figure>
  );
}

interface Scale {
  readonly right: number;
  readonly most: number;
  x(time: number): number;
  y(rate: number): number;
  timeAt(x: number): number;
  line(side: 'up' | 'down'): string;
}

function rate(point: TrafficPoint, side: 'up' | 'down'): number {
  return point[side] / Math.max(point.seconds, 0.001);
}

function scaleOf(points: readonly TrafficPoint[], width: number, height: number): Scale {
  const first = points[0]?.time ?? 0;
  const last = points[points.length - 1]?.time ?? first;
  const span = Math.max(last - first, 1);
  const peak = points.reduce((most, point) => Math.max(most, rate(point, 'up'), rate(point, 'down')), 0);
  const most = roundUp(peak);
  const right = width - 8;
  const x = (time: number) => Math.round((MARGIN + ((time - first) / span) * (right - MARGIN)) * 10) / 10;
  const y = (value: number) => Math.round((height - BOTTOM - (value / most) * (height - BOTTOM - TOP)) * 10) / 10;
  return {
    right,
    most,
    x,
    y,
    timeAt: (position) => first + ((position - MARGIN) / (right - MARGIN)) * span,
    line: (side) => `M${points.map((point) => `${x(point.time)} ${y(rate(point, side))}`).join('L')}`,
  };
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
    `${words(`overview.${name}.short`)} ${words('overview.perSecond', { size: formatSize(Math.round(rate(point, name)), words.language) })}`;
  return `${clockTime(point.time, words.language)} · ${side('down')} · ${side('up')}`;
}

interface AxesProps {
  readonly scale: Scale;
  readonly height: number;
  readonly words: Words;
  readonly points: readonly TrafficPoint[];
}

function Axes({ scale, height, words, points }: AxesProps) {
  const first = points[0];
  const last = points[points.length - 1];
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
      <text x={MARGIN} y={height - 5}>
        {first === undefined ? '' : clockTime(first.time, words.language)}
      </text>
      {points.length > 1 && last !== undefined && (
        <text x={scale.right} y={height - 5} text-anchor="end">
          {clockTime(last.time, words.language)}
        </text>
      )}
    </g>
  );
}
