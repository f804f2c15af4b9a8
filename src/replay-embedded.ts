import { playFile } from './replay/play-file.js';
import { type ScenarioResult, unplayedResult } from './replay/result.js';
import type { ScenarioFile } from './replay/scenario-files.js';
import { stageScenario } from './replay-host.js';

export interface EmbeddedOptions {
  /** Plays on this revision instead of the scenario's own. */
  readonly revision: string | null;
  readonly timeoutMilliseconds: number;
  readonly isStopped: () => boolean;
}

/** Plays one scenario on an embedded core of its own that stands in exactly the given state. */
export async function playEmbedded(file: ScenarioFile, options: EmbeddedOptions): Promise<ScenarioResult> {
  const { timeoutMilliseconds, isStopped } = options;
  try {
    const staged = await stageScenario(file.scenario, options.revision ?? file.scenario.revision, 'memory');
    try {
      return await playFile(file, { ...staged, timeoutMilliseconds, isStopped });
    } finally {
      await staged.close();
    }
  } catch (error) {
    return unplayedResult(file, 'broken', error instanceof Error ? error.message : String(error));
  }
}
