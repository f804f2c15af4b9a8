/** A process that loads 300,000 names as the resolver does, and tells what that takes and how fast it finds. */
import { performance } from 'node:perf_hooks';
import { Readable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createBlocklist } from '../src/dns/blocklist.js';
import { loadList } from '../src/dns/blocklists.js';
import { readLineOfAnEngine } from '../src/dns/line-rules.js';
import { countBlocked, type ListRules } from '../src/dns/list-rules.js';
import { blockedName, freeName, listText } from './dns-names.js';

export interface SetFigures {
  readonly names: number;
  /** Resident memory after loading, less that before, in bytes. */
  readonly resident: number;
  readonly loadMs: number;
  /** The longest time for which the event loop stood still. */
  readonly pauseMs: number;
  /** For a second of one core. */
  readonly lookUpsPerSecond: number;
}

const NAMES = 300_000;

setFlagsFromString('--expose-gc');
const collect: unknown = runInNewContext('gc');

function resident(): number {
  if (typeof collect === 'function') collect();
  return process.memoryUsage().rss;
}

async function main(): Promise<SetFigures> {
  const list = [...listText(NAMES)].map((text) => Buffer.from(text));
  const before = resident();
  let pauseMs = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    pauseMs = Math.max(pauseMs, performance.now() - last);
    last = performance.now();
  }, 1);
  const start = performance.now();
  const { rules } = await loadList(Readable.from(list), readLineOfAnEngine);
  const loadMs = performance.now() - start;
  clearInterval(timer);
  const used = resident() - before;
  return { names: countBlocked(rules), resident: used, loadMs, pauseMs, lookUpsPerSecond: lookUps(rules) };
}

/** A third each of names that are listed, names below listed ones, and names that are neither. */
function lookUps(rules: ListRules): number {
  const { blocks } = createBlocklist([{ name: 'list', rules, isAllowing: false }]);
  const asked = Array.from({ length: 300_000 }, (_, index) => {
    if (index % 3 === 0) return blockedName((index * 31) % NAMES);
    return index % 3 === 1 ? `a.b.${blockedName((index * 17) % NAMES)}` : freeName(index);
  }).map((name) => Buffer.from(name).toString('latin1')); // As they come from the wire: in one piece.
  let found = 0;
  const rounds = 10;
  const start = process.cpuUsage();
  for (let round = 0; round < rounds; round++) for (const name of asked) if (blocks(name)) found += 1;
  const { user, system } = process.cpuUsage(start);
  const seconds = (user + system) / 1e6;
  if (found !== (asked.length * rounds * 2) / 3) throw new Error('the set does not find what it has');
  return (asked.length * rounds) / seconds;
}

process.send?.(await main());
process.on('disconnect', () => process.exit(0));
process.on('SIGTERM', () => process.exit(0));
