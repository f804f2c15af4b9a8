import type { ScenarioResult, Summary } from './result.js';

/** Where a report goes: whole lines, without their line end. */
export type LineSink = (line: string) => void;

/** Tells what happens while scenarios are played. */
export interface Reporter {
  /** How many scenarios there are. */
  begin(count: number): void;
  /** Each scenario as it ends, in order. */
  done(result: ScenarioResult): void;
  end(results: readonly ScenarioResult[], summary: Summary): void;
}
