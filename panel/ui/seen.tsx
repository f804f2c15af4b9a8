import { formatSize } from '../../src/text/sizes.js';
import { clockTime, duration, fullTime, useWords } from '../i18n/text.js';
import { seenIn, type TrafficPoint } from '../state/history.js';
import type { Language } from '../store/preferences.js';

/** Milliseconds: an earlier time is told with its date. */
const HALF_A_DAY = 43_200_000;
/** Seconds that may be missing without a word. */
const SLIGHT = 10;

/** Says a time as the beginning of a record. */
export function sinceTime(since: number, language: Language): string {
  return (Date.now() - since < HALF_A_DAY ? clockTime : fullTime)(since, language);
}

/** The caption of a chart: since when it was recorded, what moved, and what part of that time nobody saw. */
export function Seen({ points }: { readonly points: readonly TrafficPoint[] }) {
  const words = useWords();
  const seen = seenIn(points);
  if (seen === null) return null;
  const { since, span, seconds, up, down } = seen;
  const time = sinceTime(since, words.language);
  const size = (bytes: number) => formatSize(bytes, words.language);
  return (
    <p class="hint">
      {words('chart.seen', { time, up: size(up), down: size(down) })}
      {span - seconds > SLIGHT &&
        ` ${words('chart.gaps', { seen: duration(seconds, words), span: duration(span, words) })}`}
    </p>
  );
}
