import { resolveRevision } from '../../revisions/index.js';
import type { Caller } from '../client/call.js';
import { createCaller } from '../client/caller.js';
import { createControl } from '../client/signed-in-caller.js';
import { messageOf } from '../core/errors.js';
import { convertFile } from '../document/convert/convert.js';
import { readDocument } from '../document/document.js';
import { compareRuns, type Run } from '../lab/compare/compare-runs.js';
import { type ScenarioResult, unplayedResult } from '../lab/compare/result.js';
import { DEFAULT_ADDRESSES } from '../lab/format/addresses.js';
import { givenStateOf } from '../lab/format/given-state.js';
import { type Bindings, createBindings } from '../lab/format/placeholders.js';
import type { Scenario } from '../lab/format/scenario.js';
import { fillCredentials, STAND_IN } from '../lab/format/secrets.js';
import { playFile } from '../lab/live/play-file.js';
import { givenFile, type PlayedStep, type PlayOptions, playScenario } from '../lab/play/play.js';
import type { ScenarioFile } from '../lab/play/scenario-files.js';
import { sessionsIn, withStandIns } from '../lab/play/stand-ins.js';
import type { Revision } from '../wire/traits/revision.js';
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
    return await onEmbedded(file.scenario, revision, options, (scenario, at) => playFile({ ...file, scenario }, at));
  } catch (error) {
    return unplayedResult(file, 'broken', messageOf(error));
  }
}

/** Two lines, as they were asked for. */
export interface Lines {
  readonly from: string;
  readonly to: string;
}

/**
 * Plays a scenario on embedded cores of two lines that stand in the same given state, each with the configuration in the layout
 * of its line, and compares what they answer. Rejects with an `Error` for people where it cannot be played.
 */
export async function compareEmbedded(
  { scenario }: ScenarioFile,
  { from, to }: Lines,
  options: Omit<EmbeddedOptions, 'revision'>,
) {
  const left = await runEmbedded(scenario, from, options);
  const right = await runEmbedded(scenario, to, options);
  const sides = { left: revisionOf(from), right: revisionOf(to) };
  // Embedded cores have the same time and randomness every time: the left one has no noise of its own.
  return { ...compareRuns(left, right, null, sides), steps: left.steps };
}

function runEmbedded(scenario: Scenario, revision: string, options: Omit<EmbeddedOptions, 'revision'>): Promise<Run> {
  return onEmbedded(scenario, revision, { ...options, isMoved: true }, async (staged, at) => {
    const steps: PlayedStep[] = [];
    const bindings = at.bindings ?? createBindings(false);
    // The file afterwards is no answer.
    const { then: _, ...played } = staged;
    await playScenario(played, { ...at, bindings, onStep: (step) => steps.push(step) });
    return { steps, bindings, base: at.target.base };
  });
}

/** The scenario with its given file in the layout that servers of a revision read; a file that cannot be converted stays. */
function inLayoutOf(scenario: Scenario, { file }: Revision): Scenario {
  const text = givenFile(scenario, DEFAULT_ADDRESSES);
  if (text === undefined) return scenario;
  try {
    const bytes = Buffer.from(text);
    if (readDocument(bytes).document.layout.name === file.layout) return scenario;
    const converted = convertFile(bytes, file).bytes.toString('utf8');
    const { config: _, ...given } = scenario.given;
    return { ...scenario, given: { ...given, configText: converted.split('\n') } };
  } catch {
    return scenario;
  }
}

interface Staging extends Omit<EmbeddedOptions, 'revision'> {
  /** True where the given file is first put into the layout of the revision, as its operator would. */
  readonly isMoved?: boolean;
}

/** Stages a scenario on a revision; a recording begins in the state that its answers told, with made-up values for what was stripped. */
async function onEmbedded<T>(
  original: Scenario,
  revision: string,
  { timeoutMilliseconds, isStopped, isMoved = false }: Staging,
  play: (scenario: Scenario, options: PlayOptions) => Promise<T>,
): Promise<T> {
  const isAnonymous = original.anonymous === true;
  const { scenario: given, bindings } = isAnonymous
    ? withStandIns(original, 'keyway-replay-')
    : { scenario: original, bindings: createBindings(false) };
  const scenario = isMoved ? inLayoutOf(given, revisionOf(revision)) : given;
  withoutLogin(scenario, revisionOf(revision), bindings);
  const staged = await stageScenario(scenario, revision, { files: 'memory' });
  const caller = createCaller({ origin: staged.target.origin, timeoutMilliseconds });
  try {
    const filled = isAnonymous ? await withCredentials(caller, scenario, staged, revisionOf(revision)) : caller;
    return await play(scenario, { ...staged, timeoutMilliseconds, isStopped, bindings, caller: filled });
  } finally {
    caller.close();
    await staged.close();
  }
}

/** Binds the sessions of a scenario from elsewhere to the static token, on a line without a login. */
function withoutLogin(scenario: Scenario, { capabilities }: Revision, bindings: Bindings): void {
  if (capabilities.login !== undefined) return;
  const { token } = givenStateOf(scenario).credentials;
  if (token !== null && token !== '') for (const name of sessionsIn(scenario)) bindings.set(name, token);
}

function revisionOf(text: string): Revision {
  const resolved = resolveRevision(text);
  if (!resolved.ok) throw new Error(`there is no such revision: ${resolved.problem}`);
  return resolved.revision;
}

async function withCredentials(
  caller: Caller,
  { given }: Scenario,
  { target }: StagedGateway,
  revision: Revision,
): Promise<Caller> {
  const username = given.listener?.username ?? '';
  const credentials = { token: STAND_IN.token, operator: { username, password: STAND_IN.password } };
  // For a session that began before its recording.
  const authorization =
    username === '' ? null : await createControl(caller, { target, revision, credentials }).authorization();
  return fillCredentials(caller, { authorization, credentials, apiRoot: target.apiRoot });
}
