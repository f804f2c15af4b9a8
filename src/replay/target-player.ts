import type { RandomPort } from '../core/ports.js';
import type { Caller, Target } from '../southbound/call.js';
import { createCaller } from '../southbound/caller.js';
import { createControl, type TargetCredentials } from '../southbound/control.js';
import type { Revision } from '../wire/traits/revision.js';
import { DEFAULT_ADDRESSES } from './addresses.js';
import { hasGivenState } from './given-state.js';
import { createOwnKeys, guardKeys } from './own-keys.js';
import type { PlayOptions } from './play.js';
import { playFile } from './play-file.js';
import { createLook } from './reads/look.js';
import { type LineOf, type ReadReport, readServer } from './reads/standing.js';
import { type ScenarioResult, unplayedResult } from './result.js';
import { restoreState, type SavedState, saveState } from './saved-state.js';
import { isExchange, type Scenario } from './scenario.js';
import type { ScenarioFile } from './scenario-files.js';
import { fillCredentials } from './secrets.js';
import { standInsFor } from './stand-ins.js';
import { learnFacts, type TargetFacts } from './target-facts.js';
import { isInstalled, NO_STAGE, type Prepared, prepare, stageOf } from './target-state.js';
import { translate } from './translate.js';
import { effectsOf, type Permissions, whyNot } from './why-not.js';

export interface TargetOptions {
  /** `http://host:port`. */
  readonly origin: string;
  readonly webpath: string;
  readonly revision: Revision;
  readonly credentials: TargetCredentials;
  readonly permissions: Permissions;
  readonly timeoutMilliseconds: number;
  /** Whether answers are compared with another server's rather than with the scenario's own; false when left out. */
  readonly isCompared?: boolean;
  readonly random: RandomPort;
  /** Keeps what stood on the server where a crash leaves it; resolves to what undoes that. */
  readonly keepSaved: (saved: SavedState) => Promise<() => Promise<void>>;
}

/** What is asked of a player beside the scenario itself. */
export type Watching = Pick<PlayOptions, 'onStep' | 'isStopped' | 'bindings'>;

/** Plays scenarios on a live server, and leaves it as it was. */
export interface TargetPlayer {
  readonly facts: TargetFacts;
  readonly target: Target;
  /** What every key that the run names itself begins with. */
  readonly keyPrefix: string;
  /** Why a scenario is not played there; null when it is. */
  whyNot(scenario: Scenario): string | null;
  /** What will be changed there, one sentence each, before anything is. */
  plan(scenarios: readonly Scenario[]): readonly string[];
  play(file: ScenarioFile, watching: Watching): Promise<ScenarioResult>;
  /** Reads all that the server shows, and holds it against the records of its own line and of these. */
  read(lines: readonly Revision[], lineOf: LineOf): Promise<ReadReport>;
  /** Removes what is left of the run's own keys and puts everything back; lists what could not be. */
  finish(): Promise<readonly string[]>;
}

/** Meets a server. Rejects with an `Error` for people when it does not answer, or not like this revision, or refuses the login. */
export async function createTargetPlayer(options: TargetOptions): Promise<TargetPlayer> {
  const { revision, credentials, permissions, webpath } = options;
  const paths = revision.root.paths(webpath);
  const target: Target = { origin: options.origin, apiRoot: paths.api, base: paths.base };
  const caller = createCaller(options);
  const control = createControl(caller, { target, revision, credentials });
  const facts = await learnFacts(caller, control, { target, revision, credentials });
  const own = createOwnKeys(`keyway-replay-${options.random.bytes(4).toString('hex')}-`);
  const live: Live = { options, target, caller, control, facts, own, saved: null, unkeep: async () => undefined };
  const { isCompared = false } = options;
  const reason = (scenario: Scenario) => whyNot(scenario, { facts, permissions, revision, target, isCompared });
  return {
    facts,
    target,
    keyPrefix: own.prefix,
    whyNot: reason,
    plan: (scenarios) =>
      planOf(
        scenarios.filter((each) => reason(each) === null),
        live,
      ),
    async play(file, watching) {
      const why = reason(file.scenario);
      return why === null ? playOn(live, file, watching) : unplayedResult(file, 'skipped', why);
    },
    async read(lines, lineOf) {
      const session = facts.hasOperator ? await control.session() : null;
      const look = createLook({ caller, webpath, token: credentials.token, session });
      return readServer(look, revision, lines, lineOf);
    },
    async finish() {
      const problems = await cleanUp(live);
      caller.close();
      return problems;
    },
  };
}

interface Live extends Prepared {
  readonly options: TargetOptions;
  readonly caller: Caller;
  saved: SavedState | null;
  unkeep: () => Promise<void>;
}

function planOf(scenarios: readonly Scenario[], { options, own, facts }: Live): readonly string[] {
  const effects = new Set(scenarios.flatMap((each) => [...effectsOf(each.exchanges.filter(isExchange))]));
  const asked = scenarios.flatMap((each) => each.exchanges.filter(isExchange));
  const replaces =
    [...effects].some(({ kind }) => kind === 'destroys') || scenarios.some((each) => isInstalled(each, facts));
  const lines: string[] = [];
  if (facts.hasOperator)
    lines.push(`signs in as ${options.credentials.operator?.username}: whoever is signed in there is signed out`);
  if (options.permissions.writes && asked.length > 0)
    lines.push(`makes keys whose texts begin with ${own.prefix}, and keys that the server names; removes them again`);
  if (replaces)
    lines.push(
      'replaces configuration, outbound rules, DNS settings and audit list, the keys of others and the listener staying;',
      'puts back what stands there now: the comments of its file are lost, audit entries get new ids and times',
    );
  return lines;
}

async function playOn(live: Live, file: ScenarioFile, watching: Watching): Promise<ScenarioResult> {
  try {
    if (live.options.permissions.destructive) await keepState(live);
    const authorization = await live.control.authorization();
    const { scenario } = file;
    const guarded = guardKeys(live.caller, { own: live.own, apiRoot: live.target.apiRoot });
    const options = { target: live.target, addresses: DEFAULT_ADDRESSES, stage: NO_STAGE, pages: 'ignored' as const };
    if (!hasGivenState(scenario)) {
      const filled = fillCredentials(guarded, { authorization, credentials: live.options.credentials, ...live.target });
      const bindings = standInsFor(scenario, live.own.prefix, {
        username: live.options.credentials.operator?.username,
        traits: live.options.revision,
      });
      return await playFile(file, { ...options, bindings, ...watching, caller: filled });
    }
    const cast = await prepare(live, scenario, authorization);
    const stage = cast.configuration === null ? NO_STAGE : stageOf(live, cast.configuration);
    const played = cast.configuration === null || scenario.then === undefined ? withoutFile(file) : file;
    return await playFile(played, { ...options, ...watching, stage, caller: translate(guarded, cast) });
  } catch (error) {
    return unplayedResult(file, 'broken', error instanceof Error ? error.message : String(error));
  } finally {
    await live.own.removeAll(live.control).catch(() => undefined);
    // At once, for the next scenario and for those who use the server; what fails here is tried and told at the end.
    if (live.saved !== null) await restoreState(live.control, live.saved);
  }
}

/** The file afterwards is compared where the scenario's own configuration stands there. */
function withoutFile(file: ScenarioFile): ScenarioFile {
  const { then: _, ...scenario } = file.scenario;
  return { ...file, scenario };
}

async function keepState(live: Live): Promise<void> {
  if (live.saved !== null) return;
  const { options, control, facts } = live;
  if (!facts.isOpen && !facts.hasToken && !facts.hasOperator) return;
  live.saved = await saveState(control, options.revision, facts);
  live.unkeep = await options.keepSaved(live.saved);
}

async function cleanUp(live: Live): Promise<readonly string[]> {
  const left = await live.own.removeAll(live.control);
  const problems = left.map((accessKey) => `the key ${accessKey} could not be removed`);
  if (live.saved !== null) problems.push(...(await restoreState(live.control, live.saved)));
  if (problems.length === 0) await live.unkeep();
  return problems;
}
