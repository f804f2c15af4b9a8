import { resolveRevision } from '../../revisions/index.js';
import { playFile } from '../replay/play-file.js';
import { type ScenarioResult, unplayedResult } from '../replay/result.js';
import type { ScenarioFile } from '../replay/scenario-files.js';
import { fillCredentials, STAND_IN } from '../replay/secrets.js';
import { withStandIns } from '../replay/stand-ins.js';
import { createCaller } from '../southbound/call.js';
import { createControl } from '../southbound/control.js';
import { type StagedGateway, stageScenario } from './stage.js';

export interface EmbeddedOptions {
  /** Plays on this revision instead of the scenario's own. */
  readonly revision: string | null;
  readonly timeoutMilliseconds: number;
  readonly isStopped: () => boolean;
}

/** Plays one scenario on an embedded core of its own that stands in exactly the given state. */
export async function playEmbedded(file: ScenarioFile, options: EmbeddedOptions): Promise<ScenarioResult> {
  const revision = options.revision ?? file.scenario.revision;
  try {
    if (file.scenario.anonymous === true) return await playRecording(file, revision, options);
    const staged = await stageScenario(file.scenario, revision, { files: 'memory' });
    try {
      return await playFile(file, { ...staged, ...options });
    } finally {
      await staged.close();
    }
  } catch (error) {
    return unplayedResult(file, 'broken', error instanceof Error ? error.message : String(error));
  }
}

/** A recording begins in the state that its answers told, with made-up values for what was stripped. */
async function playRecording(file: ScenarioFile, revision: string, options: EmbeddedOptions): Promise<ScenarioResult> {
  const { scenario, bindings } = withStandIns(file.scenario, 'keyway-replay-');
  const staged = await stageScenario(scenario, revision, { files: 'memory' });
  const caller = createCaller({ origin: staged.target.origin, timeoutMilliseconds: options.timeoutMilliseconds });
  try {
    const username = scenario.given.listener?.username ?? '';
    const credentials = { token: STAND_IN.token, operator: { username, password: STAND_IN.password } };
    const authorization = await authorizationOn(staged, revision, credentials);
    const filled = fillCredentials(caller, { authorization, credentials, apiRoot: staged.target.apiRoot });
    return await playFile({ ...file, scenario }, { ...staged, ...options, bindings, caller: filled });
  } finally {
    caller.close();
    await staged.close();
  }
}

/** What gets a session in that began before its recording. */
async function authorizationOn(
  { target }: StagedGateway,
  revisionText: string,
  credentials: Parameters<typeof createControl>[1]['credentials'],
): Promise<string | null> {
  const resolved = resolveRevision(revisionText);
  if (!resolved.ok || credentials.operator?.username === '') return null;
  const caller = createCaller({ origin: target.origin, timeoutMilliseconds: 10_000 });
  try {
    return await createControl(caller, { target, revision: resolved.revision, credentials }).authorization();
  } finally {
    caller.close();
  }
}
