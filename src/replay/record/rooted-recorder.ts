import { isJsonObject } from '../../wire/json/json.js';
import { jsonIn } from '../../wire/json/json-in.js';
import type { Revision } from '../../wire/traits/revision.js';
import { matchOperation } from '../format/effects.js';
import { isBelow, type PassedExchange } from './describe.js';
import type { ProxiedExchange } from './proxy.js';
import { createRecorder, type Recorder, type RecorderOptions } from './recorder.js';

export interface RootedOptions extends Omit<RecorderOptions, 'apiRoot' | 'base'> {
  /** The web path of the address that was given, which may be another than the server's. */
  readonly webpath: string;
}

/** A recorder that finds out by what passes where the API stands, and takes nothing in before it knows. */
export interface RootedRecorder extends Pick<Recorder, 'scenario' | 'count' | 'panelFiles' | 'sessions'> {
  /** Takes an exchange in; returns the sessions that have something new by it. */
  add(exchange: ProxiedExchange): readonly number[];
  /** Nothing more comes: where the API does not stand where it was said to, what came is taken in all the same. */
  settle(): readonly number[];
  /** Where the API stands; null until an exchange has told. */
  readonly apiRoot: string | null;
  /** Other places where an API of this kind answered, whose exchanges were not taken in as such. */
  readonly otherRoots: readonly string[];
}

/** Makes one. An address with a web path is believed as soon as one exchange fits it; one without is found in the traffic. */
export function createRootedRecorder({ webpath, ...options }: RootedOptions): RootedRecorder {
  const given = options.traits.root.paths(webpath);
  const isGiven = webpath.replaceAll('/', '') !== '' || !options.traits.root.usesWebpath;
  const waiting: ProxiedExchange[] = [];
  const roots = new Set<string>();
  const found: { recorder: Recorder | null; apiRoot: string | null } = { recorder: null, apiRoot: null };

  function begin(apiRoot: string): readonly number[] {
    const base = apiRoot === given.api ? given.base : apiRoot.slice(0, -API.length);
    const recorder = createRecorder({ ...options, apiRoot, base });
    found.recorder = recorder;
    found.apiRoot = apiRoot;
    return taken(waiting.splice(0), recorder);
  }

  return {
    add(exchange) {
      const root = apiRootIn(exchange, options.traits);
      if (root !== null) roots.add(root);
      if (found.recorder !== null) return taken([exchange], found.recorder);
      waiting.push(exchange);
      return root !== null && (!isGiven || root === given.api) ? begin(root) : [];
    },
    settle() {
      const [first] = roots;
      return found.recorder === null && first !== undefined ? begin(first) : [];
    },
    scenario(session) {
      if (found.recorder === null) throw new Error(`session ${session} was never begun`);
      return found.recorder.scenario(session);
    },
    get sessions() {
      return found.recorder?.sessions ?? [];
    },
    get count() {
      return found.recorder?.count ?? 0;
    },
    get panelFiles() {
      return found.recorder?.panelFiles ?? 0;
    },
    get apiRoot() {
      return found.apiRoot;
    },
    get otherRoots() {
      return [...roots].filter((each) => each !== found.apiRoot);
    },
  };
}

const API = '/api';

function taken(exchanges: readonly ProxiedExchange[], recorder: Recorder): readonly number[] {
  return exchanges.map((each) => recorder.add(each)).filter((session) => session !== null);
}

/** The API root that an exchange shows: what follows it is an operation, and what came is an envelope. Null for none. */
function apiRootIn({ method, path, responseBody }: PassedExchange, { root }: Revision): string | null {
  const places = root.usesWebpath ? rootsIn(path) : [root.paths('').api].filter((each) => isBelow(path, each));
  const apiRoot = places.find((each) => matchOperation(method, path.slice(each.length)) !== null);
  if (apiRoot === undefined) return null;
  const value = jsonIn(responseBody);
  return isJsonObject(value) && typeof value.ok === 'boolean' ? apiRoot : null;
}

/** Everything up to an `/api` of a path that has a web path before it, the shortest first. */
function rootsIn(path: string): readonly string[] {
  return [...path.matchAll(/\/api(?=\/)/g)]
    .map(({ index }) => path.slice(0, index + API.length))
    .filter((each) => each !== API);
}
