import { MAX_U64 } from '../../../core/model.js';
import type { JsonObject } from '../../../wire/json/json.js';
import type { Base, Source } from './posted-counters.js';
import type { KnownRun } from './source-run.js';

/** The posted counters of tunnel servers, in a backup. */
export interface StoredSources {
  readonly sources: readonly Source[];
  readonly bases: readonly Base[];
}

/** One line for each source and each base, without their ends. */
export function* sourceLines({ sources, bases }: StoredSources): Generator<string, void> {
  for (const { name, run, number, isBegun, isBaseline, connections, postedAt, runs, comparedFrom } of sources) {
    const told =
      run.kind === 'epoch'
        ? `"epoch":${run.epoch}`
        : `"uptime_seconds":${run.uptimeSeconds},"started_at":${BigInt(Math.round(run.startedAt))}`;
    const flags = `"begun":${isBegun},"baseline":${isBaseline},"connections":"${connections}"`;
    const counted = `"posted_at":${postedAt},"runs":${runs},"compared_from":${comparedFrom}`;
    yield `{"source":${JSON.stringify(name)},${told},"number":${number},${flags},${counted}}`;
  }
  for (const { source, accessKey, bytesUp, bytesDown, connections, runs } of bases) {
    const counts = `"bytes_up":${bytesUp},"bytes_down":${bytesDown},"connections":${connections}`;
    yield `{"base":${JSON.stringify(source)},"access_key":${JSON.stringify(accessKey)},${counts},"runs":${runs}}`;
  }
}

/** Reads a line of a source or a base; null for any other. Throws an `Error` that names what is wrong in it. */
export function readSourceLine(line: JsonObject): { readonly source: Source } | { readonly base: Base } | null {
  if (line.source !== undefined) return { source: sourceOf(line) };
  return line.base === undefined ? null : { base: baseOf(line) };
}

function sourceOf(line: JsonObject): Source {
  return {
    name: text(line, 'source'),
    run: runOf(line),
    number: u64(line, 'number'),
    isBegun: line.begun === true,
    isBaseline: line.baseline === true,
    connections: line.connections === 'total' ? 'total' : 'present',
    postedAt: whole(line, 'posted_at'),
    runs: whole(line, 'runs'),
    // Backups of before have none: each run began at zero.
    comparedFrom: whole(line, line.compared_from === undefined ? 'runs' : 'compared_from'),
  };
}

function runOf(line: JsonObject): KnownRun {
  if (line.epoch !== undefined) return { kind: 'epoch', epoch: u64(line, 'epoch') };
  return { kind: 'uptime', uptimeSeconds: u64(line, 'uptime_seconds'), startedAt: time(line, 'started_at') };
}

function baseOf(line: JsonObject): Base {
  return {
    source: text(line, 'base'),
    accessKey: text(line, 'access_key'),
    bytesUp: u64(line, 'bytes_up'),
    bytesDown: u64(line, 'bytes_down'),
    connections: u64(line, 'connections'),
    runs: whole(line, 'runs'),
  };
}

function text(line: JsonObject, name: string): string {
  const value = line[name];
  if (typeof value === 'string' && value !== '') return value;
  throw new Error(`${name}: expected a string that is not empty`);
}

function u64(line: JsonObject, name: string): bigint {
  const value = line[name];
  if (typeof value === 'bigint' && value >= 0n && value <= MAX_U64) return value;
  throw new Error(`${name}: expected an unsigned 64-bit integer`);
}

/** Milliseconds since the epoch, or before it: nothing bounds the age that a source may tell. */
function time(line: JsonObject, name: string): number {
  const value = line[name];
  if (typeof value === 'bigint') return Number(value);
  throw new Error(`${name}: expected an integer`);
}

function whole(line: JsonObject, name: string): number {
  const value = line[name];
  if (typeof value === 'bigint' && value >= 0n && value <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(value);
  throw new Error(`${name}: expected a whole number`);
}
