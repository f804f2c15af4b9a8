import type { ScenarioResult, Summary } from '../compare/result.js';
import type { Verdict } from './verdict.js';

/** The end of a run, even if nothing could be played. */
export interface RunEnd {
  readonly results: readonly ScenarioResult[];
  readonly summary: Summary;
  /** Null if nothing was played. */
  readonly verdict: Verdict | null;
  /** Why it could not be played, or not to its end, as sentences for the user. */
  readonly problems: readonly string[];
}

/** Takes a report as whole lines, without line breaks. */
export type LineSink = (line: string) => void;

/** Reports progress while scenarios are played. */
export interface Reporter {
  /** Called with the number of scenarios. */
  begin?(count: number): void;
  /** Called with each scenario as it ends, in order. */
  done?(result: ScenarioResult): void;
  end(end: RunEnd): void;
}
