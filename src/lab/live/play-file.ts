import { basename } from 'node:path';
import { playedResult, type ScenarioResult } from '../compare/result.js';
import { unexplainedDifferences } from '../play/divergences.js';
import { type PlayedFile, type PlayedStep, type PlayOptions, playScenario } from '../play/play.js';
import type { ScenarioFile } from '../play/scenario-files.js';

/** Plays the scenario of a file and returns its result, without the divergences that its register explains. */
export async function playFile(file: ScenarioFile, options: PlayOptions): Promise<ScenarioResult> {
  const steps: PlayedStep[] = [];
  const seen: { file: PlayedFile | null } = { file: null };
  const begun = performance.now();
  const all = await playScenario(file.scenario, {
    ...options,
    pages: options.pages ?? (file.scenario.source === 'recorded' ? 'ignored' : 'exact'),
    onStep(step) {
      steps.push(step);
      options.onStep?.(step);
    },
    onFile(afterwards) {
      seen.file = afterwards;
      options.onFile?.(afterwards);
    },
  });
  const played = { differences: all, steps, file: seen.file };
  const name = basename(file.path, '.json');
  const left = file.register === null ? all : unexplainedDifferences(file.register, name, file.scenario, played);
  return playedResult(file, { all, left, steps, milliseconds: performance.now() - begun });
}
