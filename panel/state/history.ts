import type { Whole } from '../../src/text/whole.js';
import { isObject } from '../api/objects.js';
import type { User } from '../api/wire.js';
import { parsed } from '../text/exact-json.js';

/** Bytes that moved in an interval that was seen whole: it ended at `time` and lasted `seconds`. */
export interface TrafficPoint {
  readonly time: number;
  readonly seconds: number;
  readonly up: number;
  readonly down: number;
}

/** Milliseconds. A shorter interval would make a rate of what is hardly one. */
const SHORTEST = 5_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Points that are older than an hour are joined into intervals of this many seconds. */
const JOINED = 60;
/** The most keys that are remembered, and the most of their points that are kept over a reload. */
const MOST_KEYS = 2_000;
const MOST_KEPT = 20_000;

interface KeyHistory {
  /** Since when its points are all there. */
  readonly from: number;
  points: readonly TrafficPoint[];
}

/** The traffic that the page saw. It knows nothing of the time between two visits, which stays a gap. */
export function createHistory(kept: string | null = null, now: number = Date.now()) {
  let total: readonly TrafficPoint[] = [];
  let keys = new Map<string, KeyHistory>();
  /** The beginning of the interval under way, and the bytes that have moved in it. */
  let from: number | null = null;
  let moving = new Map<string, { up: number; down: number }>();
  let hasForgotten = false;
  restore(kept);

  function restore(text: string | null): void {
    const read = readKept(text);
    total = read.total.filter(({ time }) => time > now - DAY && time <= now);
    keys = new Map(
      read.keys.map(([key, points]) => [key, { from: read.since, points: points.filter(({ time }) => time <= now) }]),
    );
  }

  function addTo(key: string, point: TrafficPoint, began: number): void {
    const known = keys.get(key) ?? { from: hasForgotten ? began : 0, points: [] };
    keys.delete(key);
    keys.set(key, { ...known, points: [...known.points.filter(({ time }) => time > point.time - HOUR), point] });
    const oldest = keys.size > MOST_KEYS ? keys.keys().next().value : undefined;
    if (oldest === undefined) return;
    keys.delete(oldest);
    hasForgotten = true;
  }

  function finish(began: number, time: number): void {
    const seconds = (time - began) / 1000;
    let up = 0;
    let down = 0;
    for (const [key, moved] of moving) {
      up += moved.up;
      down += moved.down;
      addTo(key, { time, seconds, ...moved }, began);
    }
    moving = new Map();
    total = joinOld([...total.filter((point) => point.time > time - DAY), { time, seconds, up, down }], time - HOUR);
  }

  return {
    /** The beginning of the first interval; null before anything was seen. */
    get since(): number | null {
      const first = total[0];
      return first === undefined ? from : first.time - first.seconds * 1000;
    },
    total: () => total,
    /** One key's share of the last hour's intervals; empty where it did not move. */
    of(key: string): readonly TrafficPoint[] {
      const known = keys.get(key);
      const last = total.at(-1)?.time ?? 0;
      if (known === undefined || (known.points.at(-1)?.time ?? 0) <= last - HOUR) return [];
      const moved = new Map(known.points.map((point) => [point.time, point]));
      return total
        .filter(({ time, seconds }) => time > last - HOUR && time - seconds * 1000 >= known.from)
        .map(({ time, seconds }) => moved.get(time) ?? { time, seconds, up: 0, down: 0 });
    },
    /**
     * Takes the next list, or what changed of it; `before` is the last one by key, null at first. `shortest` is the least time
     * that makes an interval.
     */
    record(users: readonly User[], before: ReadonlyMap<string, User> | null, time: number, shortest = SHORTEST) {
      if (before === null || from === null) {
        from = time;
        moving = new Map();
        return;
      }
      for (const user of users) {
        const earlier = before.get(user.access_key);
        if (earlier === undefined || earlier === user) continue;
        const up = growth(earlier.bytes_up, user.bytes_up);
        const down = growth(earlier.bytes_down, user.bytes_down);
        if (up === 0 && down === 0) continue;
        const known = moving.get(user.access_key);
        moving.set(user.access_key, { up: up + (known?.up ?? 0), down: down + (known?.down ?? 0) });
      }
      if (time - from < shortest) return;
      finish(from, time);
      from = time;
    },
    /** Everything as text, for `createHistory` after a reload. */
    kept() {
      let room = MOST_KEPT;
      const recent = [...keys].reverse().filter(([, { points }]) => {
        room -= points.length;
        return room >= 0;
      });
      return JSON.stringify({ total, keys: recent.map(([key, { points }]) => [key, points]) });
    },
    clear() {
      total = [];
      keys = new Map();
      from = null;
    },
  };
}

/** A counter that went back was reset: what it holds now has moved since. */
function growth(before: Whole, now: Whole): number {
  if (before === now) return 0;
  return now > before ? Number(BigInt(now) - BigInt(before)) : Number(now);
}

/** The span of time that points tell of, and what moved in it. */
interface Seen {
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** Seconds from then to the last point, and those of them that were seen. */
  readonly span: number;
  readonly seconds: number;
  readonly up: number;
  readonly down: number;
}

/** Sums points up; null where there are none. */
export function seenIn(points: readonly TrafficPoint[]): Seen | null {
  const [first] = points;
  const last = points.at(-1);
  if (first === undefined || last === undefined) return null;
  const since = first.time - first.seconds * 1000;
  const sum = (name: 'seconds' | 'up' | 'down') => points.reduce((total, point) => total + point[name], 0);
  return { since, span: (last.time - since) / 1000, seconds: sum('seconds'), up: sum('up'), down: sum('down') };
}

/** Returns true where nothing was missed between two points. */
export function follows(before: TrafficPoint, point: TrafficPoint): boolean {
  return point.time - point.seconds * 1000 - before.time < 1000;
}

/** Neighbours before `until` become one, where nothing is between them. */
function joinOld(points: readonly TrafficPoint[], until: number): readonly TrafficPoint[] {
  const joined: TrafficPoint[] = [];
  for (const point of points) {
    const last = joined.at(-1);
    if (last !== undefined && point.time < until && last.seconds + point.seconds <= JOINED && follows(last, point)) {
      const { time } = point;
      const seconds = last.seconds + point.seconds;
      joined[joined.length - 1] = { time, seconds, up: last.up + point.up, down: last.down + point.down };
    } else joined.push(point);
  }
  return joined;
}

interface Kept {
  readonly since: number;
  readonly total: readonly TrafficPoint[];
  readonly keys: readonly (readonly [string, readonly TrafficPoint[]])[];
}

function readKept(text: string | null): Kept {
  const kept = parsed(text);
  const { total: told, keys: toldKeys } = isObject(kept) ? kept : {};
  if (!Array.isArray(told) || !Array.isArray(toldKeys)) return { since: 0, total: [], keys: [] };
  const total = told.filter(isPoint);
  const keys = toldKeys.flatMap((entry: unknown): Kept['keys'] => {
    const [key, points]: readonly unknown[] = Array.isArray(entry) ? entry : [];
    return Array.isArray(points) ? [[String(key), points.filter(isPoint)]] : [];
  });
  return { since: total[0] === undefined ? 0 : total[0].time - total[0].seconds * 1000, total, keys };
}

function isPoint(kept: unknown): kept is TrafficPoint {
  return isObject(kept) && [kept.time, kept.seconds, kept.up, kept.down].every(Number.isFinite);
}
