import type { User } from '../api/wire.js';
import type { Whole } from '../text/exact-json.js';

/** Bytes that moved between two refreshes; `time` is when the second was seen, `seconds` how long after the first. */
export interface TrafficPoint {
  readonly time: number;
  readonly seconds: number;
  readonly up: number;
  readonly down: number;
}

/** What the page saw moving since it was opened. It knows nothing of before, nor of while it was hidden. */
export interface TrafficHistory {
  readonly since: number | null;
  total(): readonly TrafficPoint[];
  /** One key's share of the same points; empty where it did not move. */
  of(key: string): readonly TrafficPoint[];
  /** Takes the next list; `before` is the last one by key, null at first. */
  record(users: readonly User[], before: ReadonlyMap<string, User> | null, time: number): void;
}

/** An hour of refreshes in total; half of that for each of the keys that moved last. */
const TOTAL_POINTS = 720;
const KEY_POINTS = 360;
const MOST_KEYS = 2_000;

export function createHistory(): TrafficHistory {
  let since: number | null = null;
  let last = 0;
  const total: TrafficPoint[] = [];
  const keys = new Map<string, TrafficPoint[]>();

  function addTo(key: string, point: TrafficPoint): void {
    const points = keys.get(key) ?? [];
    keys.delete(key);
    keys.set(key, points);
    points.push(point);
    if (points.length > KEY_POINTS) points.shift();
    for (const oldest of keys.keys()) {
      if (keys.size <= MOST_KEYS) break;
      keys.delete(oldest);
    }
  }

  return {
    get since() {
      return since;
    },
    total: () => total,
    of(key) {
      const points = keys.get(key);
      if (points === undefined) return [];
      const moved = new Map(points.map((point) => [point.time, point]));
      return total.slice(-KEY_POINTS).map(({ time, seconds }) => moved.get(time) ?? { time, seconds, up: 0, down: 0 });
    },
    record(users, before, time) {
      const seconds = (time - last) / 1000;
      last = time;
      if (before === null || since === null) {
        since = time;
        return;
      }
      let up = 0;
      let down = 0;
      for (const user of users) {
        const earlier = before.get(user.access_key);
        if (earlier === undefined || earlier === user) continue;
        const moved = {
          up: growth(earlier.bytes_up, user.bytes_up),
          down: growth(earlier.bytes_down, user.bytes_down),
        };
        if (moved.up === 0 && moved.down === 0) continue;
        up += moved.up;
        down += moved.down;
        addTo(user.access_key, { time, seconds, ...moved });
      }
      total.push({ time, seconds, up, down });
      if (total.length > TOTAL_POINTS) total.shift();
    },
  };
}

/** A counter that went back was reset: what it holds now has moved since. */
function growth(before: Whole, now: Whole): number {
  if (before === now) return 0;
  return now > before ? Number(BigInt(now) - BigInt(before)) : Number(now);
}
