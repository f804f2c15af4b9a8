import { OPERATIONS, type Operation, serves } from '../../wire/operations.js';
import type { Revision } from '../../wire/traits/revision.js';
import type { Exchange, Scenario, ScenarioRequest } from '../format/scenario.js';
import type { ScenarioFile } from '../play/scenario-files.js';

/** The subject of a reading. */
interface Reading {
  readonly revisions: readonly Revision[];
  /** Keys that every one of the servers has. */
  readonly keys: readonly string[];
  /** True if there is a credential to ask with. */
  readonly hasCredential: boolean;
}

/** The number of keys that are requested one by one. */
const SINGLE_KEYS = 3;

/** Returns every read of these revisions, on existing things, as a scenario for comparing servers. */
export function readingScenario({ revisions, keys, hasCredential }: Reading): ScenarioFile {
  const served = OPERATIONS.filter((each) => revisions.some((revision) => serves(revision, each)));
  const reads = served.filter(({ effect, access }) => effect.kind === 'reads' && (hasCredential || access === 'open'));
  const scenario: Scenario = {
    title: 'all that reads show',
    revision: revisions[0]?.id ?? '',
    source: 'recorded',
    given: {},
    exchanges: [
      ...reads.flatMap((operation) => asked(operation, keys)),
      otherRequest('cors', { method: 'OPTIONS', path: '/users', headers: PREFLIGHT }),
      otherRequest('unmatched', { method: 'GET', path: '/keyway-no-such-path' }),
      ...['', '/', '/keyway-no-such-page', '/keyway-no-such-file.css'].map((path) =>
        otherRequest('panel', { method: 'GET', root: 'base', path }),
      ),
    ],
  };
  return { kind: 'scenario', name: 'reads', path: '', scenario, register: null };
}

const PREFLIGHT = { origin: 'https://origin.invalid', 'access-control-request-method': 'GET' };

function asked({ name, method, path, access }: Operation, keys: readonly string[]): readonly Exchange[] {
  const headers = access === 'protected' ? { authorization: 'Bearer <secret:1>' } : {};
  const about = path.includes('{key}') ? [...keys.slice(0, SINGLE_KEYS), 'keyway-no-such-key'] : [''];
  const requests = about.map((key) => ({
    method,
    path: path.replace('{key}', () => encodeURIComponent(key)),
    headers,
  }));
  const links = name === 'subscribe' ? requests.map((each) => ({ ...each, headers: { accept: 'text/plain' } })) : [];
  return [...requests, ...links].map((request) => ({ operation: name, request, response: { status: 200 } }));
}

function otherRequest(operation: string, request: ScenarioRequest): Exchange {
  return { operation, request, response: { status: 200 } };
}
