import { isJsonObject, jsonIn } from '../../wire/json/json.js';
import type { Revision } from '../../wire/traits/revision.js';
import { matchOperation } from '../format/effects.js';
import type { Scenario } from '../format/scenario.js';
import { isBelow, type PassedExchange } from './describe.js';
import type { ProxiedExchange } from './proxy.js';
import { Recorder, type RecorderOptions } from './recorder.js';

export interface RootedOptions extends Omit<RecorderOptions, 'apiRoot' | 'base'> {
  /** The web path of the address that was given, which may differ from the server's. */
  readonly webpath: string;
}

/**
 * A recorder that learns from the exchanges where the API is, and adds nothing before it knows. The web path of an
 * address is believed as soon as one exchange fits it; without one the root is found in the traffic.
 */
export class RootedRecorder {
  readonly #options: RootedOptions;
  readonly #given: ReturnType<Revision['root']['paths']>;
  readonly #isGiven: boolean;
  readonly #waiting: ProxiedExchange[] = [];
  readonly #roots = new Set<string>();
  #apiRoot: string | null = null;
  #recorder: Recorder | null = null;

  constructor(options: RootedOptions) {
    const { traits, webpath } = options;
    this.#options = options;
    this.#given = traits.root.paths(webpath);
    this.#isGiven = webpath.replaceAll('/', '') !== '' || !traits.root.usesWebpath;
  }

  /** Adds an exchange; returns the sessions that it changes. */
  add(exchange: ProxiedExchange): readonly number[] {
    const root = apiRootIn(exchange, this.#options.traits);
    if (root !== null) this.#roots.add(root);
    if (this.#recorder !== null) return taken([exchange], this.#recorder);
    this.#waiting.push(exchange);
    return root !== null && (!this.#isGiven || root === this.#given.api) ? this.#begin(root) : [];
  }

  /** Ends the recording: if the API was not where the address says, the waiting exchanges are added anyway. */
  settle(): readonly number[] {
    const [first] = this.#roots;
    return this.#recorder === null && first !== undefined ? this.#begin(first) : [];
  }

  scenario(session: number): Scenario {
    if (this.#recorder === null) throw new Error(`session ${session} was never begun`);
    return this.#recorder.scenario(session);
  }

  get counts(): Readonly<Record<'sessions' | 'exchanges' | 'panelFiles', number>> {
    const { sessions = [], count = 0, panelFiles = 0 } = this.#recorder ?? {};
    return { sessions: sessions.length, exchanges: count, panelFiles };
  }

  /** The root of the API; null until an exchange has revealed it. */
  get apiRoot(): string | null {
    return this.#apiRoot;
  }

  /** Other places where such an API answered, whose exchanges were not recorded as calls of it. */
  get otherRoots(): readonly string[] {
    return [...this.#roots].filter((each) => each !== this.#apiRoot);
  }

  #begin(apiRoot: string): readonly number[] {
    const base = apiRoot === this.#given.api ? this.#given.base : apiRoot.slice(0, -API.length);
    this.#recorder = new Recorder({ ...this.#options, apiRoot, base });
    this.#apiRoot = apiRoot;
    return taken(this.#waiting.splice(0), this.#recorder);
  }
}

const API = '/api';

function taken(exchanges: readonly ProxiedExchange[], recorder: Recorder): readonly number[] {
  return exchanges.map((each) => recorder.add(each)).filter((session) => session !== null);
}

/** Returns the API root in an exchange, before an operation that an envelope answers; null if there is none. */
function apiRootIn({ method, path, responseBody }: PassedExchange, { root }: Revision): string | null {
  const places = root.usesWebpath ? rootsIn(path) : [root.paths('').api].filter((each) => isBelow(path, each));
  const apiRoot = places.find((each) => matchOperation(method, path.slice(each.length)) !== null);
  if (apiRoot === undefined) return null;
  const value = jsonIn(responseBody);
  return isJsonObject(value) && typeof value.ok === 'boolean' ? apiRoot : null;
}

/** Lists the beginnings of a path up to an `/api` after a web path, the shortest first. */
function rootsIn(path: string): readonly string[] {
  return [...path.matchAll(/\/api(?=\/)/g)]
    .map(({ index }) => path.slice(0, index + API.length))
    .filter((each) => each !== API);
}
