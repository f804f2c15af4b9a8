import type { Caller, Target } from '../../client/call.js';
import { createCaller } from '../../client/caller.js';
import { createControl, type TargetCredentials } from '../../client/signed-in-caller.js';
import { messageOf } from '../../core/errors.js';
import type { RandomPort } from '../../core/ports.js';
import type { JsonValue } from '../../wire/json/json.js';
import type { Revision } from '../../wire/traits/revision.js';
import { type ScenarioResult, unplayedResult } from '../compare/result.js';
import { DEFAULT_ADDRESSES } from '../format/addresses.js';
import { matchRequest } from '../format/effects.js';
import { hasGivenState } from '../format/given-state.js';
import { sameJson } from '../format/json-difference.js';
import type { Bindings } from '../format/placeholders.js';
import { type Exchange, exchangesOf, type Scenario } from '../format/scenario.js';
import { fillCredentials } from '../format/secrets.js';
import { heldTo } from '../play/compare.js';
import type { PlayOptions } from '../play/play.js';
import type { ScenarioFile } from '../play/scenario-files.js';
import { standInsFor } from '../play/stand-ins.js';
import { createLook } from '../reads/look.js';
import { type LineOf, type ReadReport, readServer } from '../reads/standing.js';
import { cleanUp, type Finished } from './after-run.js';
import { guardKeys, OwnKeys } from './own-keys.js';
import { playFile } from './play-file.js';
import { inOrder, readState, type SavedState } from './saved-state.js';
import { learnAnnouncement, learnFacts, type TargetFacts } from './target-facts.js';
import { NO_STAGE, type Prepared, prepare } from './target-state.js';
import { COUNTS, isOwnElement, translate } from './translate.js';
import { tryChanges } from './trials/try-changes.js';
import { playable, whyNot } from './why-not.js';

export interface TargetOptions {
  /** `http://host:port`. */
  readonly origin: string;
  readonly webpath: string;
  readonly revision: Revision;
  readonly credentials: TargetCredentials;
  /** True if keys may be made and removed. */
  readonly writes: boolean;
  readonly timeoutMilliseconds: number;
  /** Certificates (PEM) that are trusted instead of the system's. */
  readonly ca?: Buffer;
  /** True to compare answers with another server's instead of the scenario's own; default false. */
  readonly isCompared?: boolean;
  readonly random: RandomPort;
  /** Resolves after this many milliseconds; by default real ones. */
  readonly pause?: (milliseconds: number) => Promise<unknown>;
}

export type Watching = Pick<PlayOptions, 'onStep' | 'isStopped' | 'bindings'>;

interface Live extends Prepared {
  /** Updated with the form of links, if a key of the run's own had to reveal it. */
  facts: TargetFacts;
  readonly options: TargetOptions;
  readonly caller: Caller;
  /** Null if the run cannot be authorized. */
  readonly before: SavedState | null;
}

/**
 * Prepares a server. Rejects with an `Error` for the user if it does not answer, or not like this revision, or refuses
 * the login.
 */
export async function createTargetPlayer(options: TargetOptions): Promise<TargetPlayer> {
  const { revision, credentials, webpath } = options;
  const paths = revision.root.paths(webpath);
  const target: Target = { origin: options.origin, apiRoot: paths.api, base: paths.base };
  const caller = createCaller(options);
  const control = createControl(caller, { target, revision, credentials });
  const facts = await learnFacts(caller, control, { target, revision, credentials });
  const own = new OwnKeys(
    `keyway-replay-${options.random.bytes(4).toString('hex')}-`,
    facts.keys.map(({ accessKey }) => accessKey),
  );
  const before = facts.isLetIn ? await readState(control, revision) : null;
  return new TargetPlayer({ options, target, caller, control, facts, own, before });
}

/** Plays scenarios on a live server, and leaves it as it was. */
export class TargetPlayer {
  /** Facts from before anything was played. */
  readonly facts: TargetFacts;
  readonly target: Target;
  /** The prefix of every key that the run names itself. */
  readonly keyPrefix: string;
  readonly #live: Live;

  constructor(live: Live) {
    this.#live = live;
    this.facts = live.facts;
    this.target = live.target;
    this.keyPrefix = live.own.prefix;
  }

  /** Returns why a scenario is not played there; null if it is. */
  whyNot(scenario: Scenario): string | null {
    return whyNot(scenario, { ...this.#live.options, facts: this.#live.facts, target: this.target });
  }

  /** Returns the placeholders' values for a recording, as its client would have them here. */
  standIns(scenario: Scenario, prefix = this.keyPrefix): Bindings {
    const { credentials, revision } = this.#live.options;
    return standInsFor(scenario, prefix, { username: credentials.operator?.username, traits: revision });
  }

  /** Lists what will be changed there, one sentence each, before anything is. */
  plan(scenarios: readonly Scenario[]): readonly string[] {
    const { options, own, facts } = this.#live;
    const asked = scenarios.filter((each) => this.whyNot(each) === null).flatMap(exchangesOf);
    const lines: string[] = [];
    if (facts.hasOperator)
      lines.push(`signs in as ${options.credentials.operator?.username}: whoever is signed in there is signed out`);
    if (options.writes && asked.length > 0)
      lines.push(`makes keys whose texts begin with ${own.prefix}, and keys that the server names; removes them again`);
    return lines;
  }

  async play(file: ScenarioFile, watching: Watching): Promise<ScenarioResult> {
    if (this.facts.isLetIn && this.#live.options.writes) await this.#learnLinks();
    const why = this.whyNot(file.scenario);
    if (why !== null) return unplayedResult(file, 'skipped', why);
    const result = await this.#playOn(file, watching);
    // A caller that watches the steps compares them with another run's.
    if (result.outcome !== 'different' || watching.onStep !== undefined) return result;
    if (differsInCounts(result)) return this.#playStill(file, watching, result);
    return makesKeysInBulk(file.scenario) ? this.#playBetweenLooks(file, watching, result) : result;
  }

  /** Reads everything that the server shows, and compares it with the records of its own line and of these. */
  async read(lines: readonly Revision[], lineOf: LineOf): Promise<ReadReport> {
    const { caller, control, options } = this.#live;
    const { webpath, credentials, pause, revision } = options;
    const session = this.facts.hasOperator ? await control.session() : null;
    const look = createLook({ caller, webpath, token: credentials.token, session, pause });
    return readServer(look, revision, lines, lineOf);
  }

  /** Tries each change of keys, with and without a credential. Only allowed with permission to write. */
  tryChanges(isStopped: () => boolean): Promise<readonly ScenarioResult[]> {
    return tryChanges(this.#live, isStopped);
  }

  /** Removes the rest of the run's own keys, and returns what has changed. */
  async finish(): Promise<Finished> {
    const finished = await cleanUp(this.#live);
    this.#live.caller.close();
    return finished;
  }

  async #playOn(file: ScenarioFile, watching: Watching): Promise<ScenarioResult> {
    const { options, control, caller, own, target } = this.#live;
    const { credentials, revision } = options;
    try {
      const authorization = await control.authorization();
      const { scenario, unplayed, leavesOut } = playable(file.scenario);
      const part = { ...file, scenario };
      const guarded = guardKeys(caller, { own, apiRoot: target.apiRoot });
      const shared = {
        target,
        addresses: DEFAULT_ADDRESSES,
        stage: NO_STAGE,
        pages: 'ignored' as const,
        leavesOut,
        heldTo: (exchange: Exchange) => heldTo(exchange, scenario, revision),
      };
      if (!hasGivenState(scenario)) {
        const filled = fillCredentials(guarded, { authorization, credentials, ...target });
        const bindings = this.standIns(scenario);
        return { ...(await playFile(part, { ...shared, bindings, ...watching, caller: filled })), unplayed };
      }
      const translation = await prepare(this.#live, scenario, authorization);
      // The file afterwards belongs to a configuration that the server does not have.
      const { then: _, ...others } = scenario;
      const translated = { keyOrder: 'ignored' as const, caller: translate(guarded, translation) };
      return {
        ...(await playFile({ ...file, scenario: others }, { ...shared, ...watching, ...translated })),
        unplayed,
      };
    } catch (error) {
      return unplayedResult(file, 'broken', messageOf(error));
    } finally {
      // At once, for the next scenario and for other users of the server; a failure here is retried and reported at the
      // end.
      await own.removeAll(control).catch(() => undefined);
    }
  }

  /** Plays a scenario again whose counts differ, because they include other clients' keys, which may be changing. */
  async #playStill(file: ScenarioFile, watching: Watching, first: ScenarioResult): Promise<ScenarioResult> {
    for (let play = 0; play < PLAYS; play += 1) {
      const before = await this.#keysOfOthers();
      const result = await this.#playOn(file, watching);
      if (!differsInCounts(result)) return result;
      if (sameJson(before, await this.#keysOfOthers())) return first;
    }
    return unplayedResult(file, 'skipped', 'others change keys or traffic meanwhile, which its counts are about');
  }

  /**
   * Plays a scenario again, because the server may have checked its file during it, which gives keys made in bulk their
   * counters.
   */
  async #playBetweenLooks(file: ScenarioFile, watching: Watching, first: ScenarioResult): Promise<ScenarioResult> {
    const again = await this.#playOn(file, watching);
    return again.outcome === 'equal' ? again : first;
  }

  /** Returns other clients' keys with counters, sorted, because keys without traffic are listed in any order. */
  async #keysOfOthers(): Promise<JsonValue> {
    const { control, own } = this.#live;
    const { data } = await control.send('GET', '/users');
    return inOrder(Array.isArray(data) ? data : []).filter((each) => !isOwnElement(each, own));
  }

  /** Learns the form of links from a key of the run's own, if there is no key that a path could name. */
  async #learnLinks(): Promise<void> {
    const { control, own, facts, options } = this.#live;
    if (facts.announced !== null) return;
    const key = `${own.prefix}link`;
    own.add(key);
    try {
      await control.send('POST', '/users', { access_key: key });
      const announced = await learnAnnouncement(control, key, options.revision, facts.dnsEnabled);
      this.#live.facts = { ...facts, announced };
      await own.removeAll(control);
    } catch {
      // Scenarios that cannot be played report it, and the key is removed at the end.
    }
  }
}

function makesKeysInBulk(scenario: Scenario): boolean {
  return exchangesOf(scenario).some(({ request }) => matchRequest(request)?.operation.name === 'bulkCreateUsers');
}

/** The most times that a scenario whose counts differ is played again. */
const PLAYS = 2;
const COUNTED: ReadonlySet<string> = new Set(COUNTS.map((member) => `body /data/${member}`));

function differsInCounts({ outcome, differences }: ScenarioResult): boolean {
  return outcome === 'different' && differences.every(({ where }) => COUNTED.has(where));
}
