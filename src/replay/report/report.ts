import type { ScenarioResult, Summary } from '../compare/result.js';
import type { Verdict } from './verdict.js';

/** The end of a run, also of one in which nothing could be played. */
export interface RunEnd {
  readonly results: readonly ScenarioResult[];
  readonly summary: Summary;
  /** Null where nothing was played. */
  readonly verdict: Verdict | null;
  /** Why it could not be played, or not to its end; sentences for people. */
  readonly problems: readonly string[];
}

/** Takes a report: whole lines, without their line end. */
export type LineSink = (line: string) => void;

/** Tells what happens while scenarios are played. */
export interface Reporter {
  /** Told the number of scenarios. */
  begin?(count: number): void;
  /** Each scenario as it ends, in order. */
  done?(result: ScenarioResult): void;
  end(end: RunEnd): void;
}
