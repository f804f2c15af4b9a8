import type { Caller, Target } from '../../client/call.js';
import { createCaller } from '../../client/caller.js';
import { createControl, type TargetCredentials } from '../../client/signed-in-caller.js';
import { messageOf } from '../../core/errors.js';
import type { RandomPort } from '../../core/ports.js';
import type { JsonValue } from '../../wire/json/json.js';
import type { Revision } from '../../wire/traits/revision.js';
import { type ScenarioResult, unplayedResult } from '../compare/result.js';
import { DEFAULT_ADDRESSES } from '../format/addresses.js';
import { hasGivenState, keyOf } from '../format/given-state.js';
import { sameJson } from '../format/json-difference.js';
import { type Exchange, exchangesOf, type Scenario } from '../format/scenario.js';
import { fillCredentials } from '../format/secrets.js';
import { heldTo } from '../play/left-open.js';
import type { PlayOptions } from '../play/play.js';
import type { ScenarioFile } from '../play/scenario-files.js';
import { standInsFor } from '../play/stand-ins.js';
import { createLook } from '../reads/look.js';
import { type LineOf, type ReadReport, readServer } from '../reads/standing.js';
import { cleanUp, type Finished, type KeptState } from './after-run.js';
import { createOwnKeys, guardKeys } from './own-keys.js';
import { playFile } from './play-file.js';
import { dropComments, readState, restoreState, type SavedState, whyNotToReplace } from './saved-state.js';
import { CountsAtStart } from './take-over.js';
import { learnAnnouncement, learnFacts, type TargetFacts } from './target-facts.js';
import { isInstalled, NO_STAGE, type Prepared, prepare, stageOf } from './target-state.js';
import { translate } from './translate.js';
import { tryChanges } from './trials/try-changes.js';
import { effectsOf, type Permissions, playable, whyNot } from './why-not.js';

export interface TargetOptions {
  /** `http://host:port`. */
  readonly origin: string;
  readonly webpath: string;
  readonly revision: Revision;
  readonly credentials: TargetCredentials;
  readonly permissions: Permissions;
  readonly timeoutMilliseconds: number;
  /** Certificates (PEM) that are trusted instead of the system's. */
  readonly ca?: Buffer;
  /** Whether answers are compared with another server's rather than with the scenario's own; false when left out. */
  readonly isCompared?: boolean;
  readonly random: RandomPort;
  /** Resolves so many milliseconds later; real ones when left out. */
  readonly pause?: (milliseconds: number) => Promise<unknown>;
  /** Keeps what stood on the server where a crash leaves it. */
  readonly keepSaved: (saved: SavedState) => Promise<KeptState>;
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
  /** Tries each change that is permitted, with and without a credential. Only where writes are. */
  tryChanges(isStopped: () => boolean): Promise<readonly ScenarioResult[]>;
  /** Why the server's configuration is not to be replaced, or null. */
  whyNotToReplace(): string | null;
  /** Removes what is left of the run's own keys and puts everything back. */
  finish(): Promise<Finished>;
}

/** Meets a server. Rejects with an `Error` for people when it does not answer, or not like this revision, or refuses the login. */
export async function createTargetPlayer(options: TargetOptions): Promise<TargetPlayer> {
  const { revision, credentials, permissions, webpath } = options;
  const paths = revision.root.paths(webpath);
  const target: Target = { origin: options.origin, apiRoot: paths.api, base: paths.base };
  const caller = createCaller(options);
  const control = createControl(caller, { target, revision, credentials });
  const facts = await learnFacts(caller, control, { target, revision, credentials });
  const own = createOwnKeys(
    `keyway-replay-${options.random.bytes(4).toString('hex')}-`,
    facts.keys.map(({ accessKey }) => accessKey),
  );
  const isLetIn = facts.isOpen || facts.hasToken || facts.hasOperator;
  const before = isLetIn ? await readState(control, revision) : null;
  const live: Live = { options, target, caller, control, facts, own, before, kept: null, isRewritten: false };
  const { isCompared = false } = options;
  const reason = (scenario: Scenario) =>
    whyNot(scenario, { facts: live.facts, permissions, revision, target, isCompared });
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
      if (isLetIn && permissions.writes) await learnLinks(live);
      const why = reason(file.scenario);
      if (why !== null) return unplayedResult(file, 'skipped', why);
      const result = await playOn(live, file, watching);
      // Whoever watches the steps has them compared with another run's.
      return differsInCounts(result) && watching.onStep === undefined
        ? playStill(live, file, watching, result)
        : result;
    },
    async read(lines, lineOf) {
      const session = facts.hasOperator ? await control.session() : null;
      const look = createLook({ caller, webpath, token: credentials.token, session, pause: options.pause });
      return readServer(look, revision, lines, lineOf);
    },
    async tryChanges(isStopped) {
      try {
        if (permissions.destructive) await keepState(live);
        return await tryChanges(live, isStopped);
      } finally {
        if (live.kept !== null && live.before !== null) await restoreState(live, live.before);
      }
    },
    whyNotToReplace: () => (before === null ? 'no credential lets the run in' : whyNotToReplace(before)),
    async finish() {
      const finished = await cleanUp(live);
      caller.close();
      return finished;
    },
  };
}

interface Live extends Prepared {
  /** Grows by how links look, where a key of the run's own had to show it. */
  facts: TargetFacts;
  readonly options: TargetOptions;
  readonly caller: Caller;
  /** Null where nothing lets the run in. */
  readonly before: SavedState | null;
  /** Where the state before is kept, once anything of it may be replaced. */
  kept: KeptState | null;
  /** Whether its file is as the server writes it, where rules are written. */
  isRewritten: boolean;
}

function planOf(scenarios: readonly Scenario[], { options, own, facts }: Live): readonly string[] {
  const asked = scenarios.flatMap(exchangesOf);
  const replaces =
    [...effectsOf(asked)].some(({ kind }) => kind === 'destroys') || scenarios.some((each) => isInstalled(each, facts));
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
  const { credentials, permissions, revision } = live.options;
  try {
    if (permissions.destructive) await keepState(live);
    const authorization = await live.control.authorization();
    const { scenario, unplayed, leavesOut } = playable(file.scenario);
    const part = { ...file, scenario };
    const guarded = guardKeys(live.caller, { own: live.own, apiRoot: live.target.apiRoot });
    const options = {
      target: live.target,
      addresses: DEFAULT_ADDRESSES,
      stage: NO_STAGE,
      pages: 'ignored' as const,
      leavesOut,
      heldTo: (exchange: Exchange) => heldTo(exchange, scenario, revision),
    };
    if (!hasGivenState(scenario)) {
      const filled = fillCredentials(guarded, { authorization, credentials, ...live.target });
      const bindings = standInsFor(scenario, live.own.prefix, {
        username: credentials.operator?.username,
        traits: revision,
      });
      return { ...(await playFile(part, { ...options, bindings, ...watching, caller: filled })), unplayed };
    }
    const cast = await prepare(live, scenario, authorization);
    const stage = cast.configuration === null ? NO_STAGE : stageOf(live, cast.configuration);
    const played = cast.configuration === null || scenario.then === undefined ? withoutFile(part) : part;
    const own = { stage, keyOrder: 'ignored' as const, caller: translate(guarded, cast) };
    const result = await playFile(played, { ...options, ...watching, ...own });
    return { ...result, unplayed };
  } catch (error) {
    if (error instanceof CountsAtStart) return unplayedResult(file, 'skipped', error.message);
    return unplayedResult(file, 'broken', messageOf(error));
  } finally {
    await live.own.removeAll(live.control).catch(() => undefined);
    // At once, for the next scenario and for those who use the server; what fails here is tried and told at the end.
    if (live.kept !== null && live.before !== null) await restoreState(live, live.before);
  }
}

/** How often a scenario is played again whose counts differ while others change keys. */
const PLAYS = 2;
const COUNTS: ReadonlySet<string> = new Set(['body /data/total_users', 'body /data/active_users']);

function differsInCounts({ outcome, differences }: ScenarioResult): boolean {
  return outcome === 'different' && differences.every(({ where }) => COUNTS.has(where));
}

/** Plays a scenario again whose counts differ: what they count is others' as well, and differs rightly where those change it. */
async function playStill(
  live: Live,
  file: ScenarioFile,
  watching: Watching,
  first: ScenarioResult,
): Promise<ScenarioResult> {
  for (let play = 0; play < PLAYS; play += 1) {
    const before = await ofOthers(live);
    const result = await playOn(live, file, watching);
    if (!differsInCounts(result)) return result;
    if (sameJson(before, await ofOthers(live))) return first;
  }
  return unplayedResult(file, 'skipped', 'others change keys or traffic meanwhile, which its counts are about');
}

/** The keys of others with their counters, in an order of their own: servers list keys without traffic in none. */
async function ofOthers({ control, own }: Live): Promise<JsonValue> {
  const { data } = await control.send('GET', '/users');
  const list = Array.isArray(data) ? data : [];
  const keyed = list.map((each: JsonValue) => [keyOf(each)[0]?.accessKey ?? '', each] as const);
  return keyed
    .filter(([key]) => !own.isOwn(key))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, each]) => each);
}

/** Where no key stands there that a path could name, one of the run's own shows how links look. */
async function learnLinks(live: Live): Promise<void> {
  const { control, own, facts, options } = live;
  if (facts.announced !== null) return;
  const key = `${own.prefix}link`;
  own.add(key);
  try {
    await control.send('POST', '/users', { access_key: key });
    const announced = await learnAnnouncement(control, key, options.revision, facts.dnsEnabled);
    live.facts = { ...facts, announced };
    await own.removeAll(control);
  } catch {
    // What cannot be asked now is told by the scenarios, and the key goes at the end.
  }
}

/** The file afterwards is compared where the scenario's own configuration stands there. */
function withoutFile(file: ScenarioFile): ScenarioFile {
  const { then: _, ...scenario } = file.scenario;
  return { ...file, scenario };
}

async function keepState(live: Live): Promise<void> {
  if (live.before === null) return;
  live.kept ??= await live.options.keepSaved(live.before);
  if (live.isRewritten || live.options.revision.capabilities.rules === undefined) return;
  const problem = await dropComments(live);
  if (problem !== null) throw new Error(`its configuration cannot be written anew: ${problem}`);
  live.isRewritten = true;
}
