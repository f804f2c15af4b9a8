import type { Target } from '../../client/call.js';
import type { Control, TargetCredentials } from '../../client/signed-in-caller.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/json/json.js';
import type { Revision } from '../../wire/traits/revision.js';
import { type GivenState, givenStateOf, membersOf } from '../format/given-state.js';
import { type Exchange, exchangesOf, type Scenario } from '../format/scenario.js';
import type { Stage } from '../play/play.js';
import type { OwnKeys } from './own-keys.js';
import type { TargetFacts } from './target-facts.js';
import type { Translation } from './translate.js';
import { isTokenOnlyAKey } from './why-not.js';

/** A live server that a run has prepared. */
export interface Prepared {
  readonly options: {
    readonly revision: Revision;
    readonly credentials: TargetCredentials;
    /** True if keys may be made and removed. */
    readonly writes: boolean;
  };
  readonly target: Target;
  readonly control: Control;
  readonly facts: TargetFacts;
  readonly own: OwnKeys;
}

/** Makes the keys of the given state. */
export async function prepare(live: Prepared, scenario: Scenario, authorization: string | null): Promise<Translation> {
  const { control, facts, own, options } = live;
  const state = givenStateOf(scenario);
  const before = await statusOf(control, facts);
  if (options.writes) await makeKeys(live, state);
  const exchanges = exchangesOf(scenario);
  const there = options.writes ? 0 : state.keys.length;
  return {
    apiRoot: live.target.apiRoot,
    state,
    server: scenario.given.server,
    own,
    bearer: !isTokenOnlyAKey(exchanges, state.credentials.token)
      ? null
      : facts.hasToken
        ? `Bearer ${options.credentials.token}`
        : authorization,
    token: facts.hasToken ? options.credentials.token : null,
    operator: options.credentials.operator,
    announced: facts.announced,
    status: { before, keysThere: BigInt(there), endpoint: endpointIn(exchanges) },
    onManyWrongLogins: () => control.login(),
  };
}

async function statusOf(control: Control, facts: TargetFacts): Promise<JsonObject> {
  const { data } = facts.isLetIn ? await control.send('GET', '/server/status') : { data: undefined };
  return isJsonObject(data) ? data : {};
}

/** Finds the scenario's own address for clients in its status; undefined if it has none. */
function endpointIn(exchanges: readonly Exchange[]): JsonValue | undefined {
  const told = exchanges.flatMap(({ operation, response: { body } }) => {
    const data = operation === 'getStatus' && isJsonObject(body) ? body.data : undefined;
    return isJsonObject(data) ? [data.endpoint] : [];
  });
  return told.find((each) => each !== undefined);
}

async function makeKeys({ control, own }: Prepared, state: GivenState): Promise<void> {
  for (const each of state.keys) {
    const key = own.prefix + each.accessKey;
    own.add(key);
    const { status, error } = await control.send('POST', '/users', membersOf({ ...each, accessKey: key }));
    if (status !== 200) throw new Error(`a key for the scenario could not be made: ${status} ${error}`);
  }
}

const impossible = async (): Promise<never> => {
  throw new Error('a live server cannot be given this');
};

/** The stage of a server that accepts nothing but requests. */
export const NO_STAGE: Stage = {
  counters: impossible,
  handEdit: impossible,
  settle: async () => undefined,
  breakFile: impossible,
  configText: impossible,
};
