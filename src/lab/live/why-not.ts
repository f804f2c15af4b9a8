import type { Target } from '../../client/call.js';
import { isJsonObject, jsonIn, LAST_WINS } from '../../wire/json/json.js';
import type { Subject } from '../../wire/operations/operation.js';
import { OPERATIONS, type OperationName } from '../../wire/operations.js';
import type { Revision } from '../../wire/traits/revision.js';
import { decoded, effectOf, keysNamed, makesKeys, matchRequest } from '../format/effects.js';
import { type GivenState, givenStateOf, hasGivenState, isOpenState, isPassword } from '../format/given-state.js';
import { type Exchange, exchangesOf, isExchange, type Scenario, type Step } from '../format/scenario.js';
import type { TargetFacts } from './target-facts.js';

export interface Circumstances {
  readonly facts: TargetFacts;
  /** True if keys may be made and removed. */
  readonly writes: boolean;
  readonly revision: Revision;
  readonly target: Target;
  /** True to compare answers with another server's, so that the scenario's own need not match; default false. */
  readonly isCompared?: boolean;
}

/** Returns one reason why a scenario cannot be played on a live server, or null if it can. */
export function whyNot(scenario: Scenario, at: Circumstances): string | null {
  const exchanges = exchangesOf(scenario);
  return (
    ownInterfaceReason(exchanges) ??
    ownReason(scenario) ??
    outsideReason(scenario.exchanges) ??
    permissionReason(exchanges, at) ??
    lockReason(exchanges, at) ??
    (hasGivenState(scenario) ? stateReason(scenario, exchanges, at) : recordingReason(exchanges, at))
  );
}

/**
 * Returns the part of a scenario that is played on a live server, which of its steps are left out, and why: a step that
 * cannot be undone is not played, nor what depends on its success.
 */
export function playable(scenario: Scenario): {
  readonly scenario: Scenario;
  readonly unplayed: string | null;
  readonly leavesOut: (exchange: Exchange) => boolean;
} {
  const steps = scenario.exchanges;
  const first = steps.findIndex((step) => isExchange(step) && makesEmptyKey(step));
  if (first < 0) return { scenario, unplayed: null, leavesOut: () => false };
  const why = 'it makes an empty key, which no operation removes';
  const end = steps.findIndex((step) => isExchange(step) && makesEmptyKey(step) && step.response.status < 400);
  if (end < 0) return { scenario, unplayed: `step ${first + 1} is not played: ${why}`, leavesOut: makesEmptyKey };
  const { then: _, ...others } = scenario;
  const unplayed = `not played from step ${end + 1} on: ${why}`;
  return { scenario: { ...others, exchanges: steps.slice(0, end) }, unplayed, leavesOut: makesEmptyKey };
}

function makesEmptyKey(exchange: Exchange): boolean {
  const { body, text } = exchange.request;
  const operation = matchRequest(exchange.request)?.operation;
  if (operation === undefined || !makesKeys(operation)) return false;
  const value = text === undefined ? body : jsonIn(Buffer.from(text), LAST_WINS);
  return isJsonObject(value) && value.access_key === '';
}

/** Rows in which only Keyway accepts, or refuses, what other servers do not, so that what follows differs. */
const OF_KEYWAY_ALONE: ReadonlySet<string> = new Set([
  'silent:dnsConfig',
  'silent:otherMode',
  'silent:emptyAccessKey',
  'error:auditTooLarge',
]);

function ownInterfaceReason(exchanges: readonly Exchange[]): string | null {
  const index = exchanges.findIndex(({ request }) => request.root === 'v1');
  const operation = exchanges[index]?.operation;
  return operation === undefined ? null : `calls Keyway's own interface (${operation}), which is no revision's`;
}

function ownReason({ covers = [] }: Scenario): string | null {
  const own = covers.filter((mark) => OF_KEYWAY_ALONE.has(mark));
  return own.length === 0 ? null : 'stands for what Keyway alone does, where the specification leaves it open';
}

function outsideReason(steps: readonly Step[]): string | null {
  for (const [index, step] of steps.entries()) {
    const where = `step ${index + 1}`;
    if ('counters' in step) return `${where} needs traffic, which the API cannot give`;
    if ('handEdit' in step) return `${where} edits the file by hand, which the API cannot do`;
    if ('breakFile' in step) return `${where} breaks the file, which the API cannot do`;
  }
  return null;
}

/** Returns the words for something that a run leaves out, because it would have to do this to a server. */
const notSeen = (does: string): string => `not seen, because that ${does}`;

const REPLACES_CONFIGURATION = notSeen('replaces the configuration');
const LOCKS_OUT = notSeen('locks out those who sign in');

/** In the order of the operations, so that of several reasons the same one is always given. */
function permissionReason(exchanges: readonly Exchange[], { writes }: Circumstances): string | null {
  const matched = new Set(exchanges.map((each) => matchRequest(each.request)?.operation));
  const asked = OPERATIONS.filter((each) => matched.has(each));
  for (const { effect } of asked) if (effect.kind === 'destroys') return notSeen(effect.does);
  if (writes) return null;
  // The name and password of the run are the permission to sign in.
  const known = asked.filter(({ subject }) => subject !== 'session').map(({ effect }) => effect);
  const unmatched = exchanges.filter(({ request }) => matchRequest(request) === null);
  const effects = [...known, ...unmatched.map(({ request }) => effectOf(request))];
  const writing = effects.find((each) => each.kind === 'writes');
  return writing === undefined ? null : `${writing.does}: needs --writes`;
}

/** Guesses that a server answers with a wait keep its operator waiting as well. */
function lockReason(exchanges: readonly Exchange[], { revision }: Circumstances): string | null {
  const { status } = revision.errors.tooManyLogins;
  const locks = exchanges.some(
    ({ operation, response }) => operation === 'login' && response.status === status && status !== 401,
  );
  return locks ? LOCKS_OUT : null;
}

/** Returns why a scenario with a given state cannot be played there, or null. */
function stateReason(scenario: Scenario, exchanges: readonly Exchange[], at: Circumstances): string | null {
  const state = givenStateOf(scenario);
  return (
    (state.hasTraffic ? 'needs traffic counters, which the API cannot give' : null) ??
    credentialReason(exchanges, state, at) ??
    webpathReason(exchanges, state, at) ??
    fileReason(exchanges, state, at) ??
    keyReason(exchanges, state, at) ??
    linkReason(scenario, exchanges, state, at)
  );
}

function credentialReason(
  exchanges: readonly Exchange[],
  state: GivenState,
  { facts, revision }: Circumstances,
): string | null {
  const open = isOpenState(state, revision);
  if (open && !facts.isOpen) return 'needs an open API; this one asks for a credential';
  const refusals = exchanges.some(({ response }) => response.status === 401);
  const logins = exchanges.filter(({ operation }) => operation === 'login');
  if (!open && facts.isOpen && (refusals || logins.length > 0))
    return 'needs an API that asks for a credential; this one is open';
  if (facts.isOpen) return null;
  const { username, passwordHash, token } = state.credentials;
  if (logins.length > 0) {
    if (username === '' || passwordHash === '') return 'needs a server whose login is not configured';
    if (!facts.hasOperator) return 'signs in: needs --username and the password';
  }
  if (facts.hasToken) return null;
  if (token !== null && token !== '' && exchanges.some((each) => isBareToken(each, token)))
    return 'sends the static token as it stands: needs --token';
  const usesToken = exchanges.some((each) => isBearer(each, token) && each.response.status !== 401);
  if (usesToken && !facts.hasOperator) return 'needs --token, or --username and the password';
  return usesToken && logins.some(isRightLogin(state)) ? 'signs in beside the static token: needs --token' : null;
}

function isRightLogin(state: GivenState): (exchange: Exchange) => boolean {
  return ({ request: { body } }) =>
    isJsonObject(body) && typeof body.password === 'string' && isPassword(body.password, state);
}

function authorizationOf({ request }: Exchange): string | undefined {
  return Object.entries(request.headers ?? {}).find(([name]) => name.toLowerCase() === 'authorization')?.[1];
}

function isBearer(exchange: Exchange, token: string | null): boolean {
  return token !== null && authorizationOf(exchange) === `Bearer ${token}`;
}

/** Tells whether the scenario's static token only admits it, so that any other credential may replace it. */
export function isTokenOnlyAKey(exchanges: readonly Exchange[], token: string | null): boolean {
  return !exchanges.some((each) => isBearer(each, token) && each.response.status === 401);
}

function isBareToken(exchange: Exchange, token: string): boolean {
  return authorizationOf(exchange)?.trim() === token && exchange.response.status !== 401;
}

function webpathReason(
  exchanges: readonly Exchange[],
  state: GivenState,
  { revision, target }: Circumstances,
): string | null {
  const { base } = revision.root.paths(state.webpath);
  if (base === target.base) return null;
  const names = exchanges.some(
    ({ request, response }) => request.root === 'server' || response.headers?.location !== undefined,
  );
  return names ? `needs its own web path, ${base}` : null;
}

/** The subjects that are stored in the configuration file. */
const OF_CONFIGURATION: ReadonlySet<Subject> = new Set(['configuration', 'rules', 'dns']);

/** Reads of other subjects whose answers come from the configuration file. */
const MADE_OF_CONFIGURATION: ReadonlySet<OperationName> = new Set(['getDnsSettings', 'getOvernet', 'getShare']);

/** Tells whether these requests need the scenario's own configuration on the server. */
function needsConfiguration(exchanges: readonly Exchange[]): boolean {
  return exchanges.some((exchange) => {
    const operation = matchRequest(exchange.request)?.operation;
    if (operation === undefined) return false;
    if (!OF_CONFIGURATION.has(operation.subject) && !MADE_OF_CONFIGURATION.has(operation.name)) return false;
    return operation.effect.kind !== 'reads' || isServed(exchange);
  });
}

/** Tells whether a request gets past the access check and finds something to read. */
function isServed({ response }: Exchange): boolean {
  return response.status !== 401 && response.status !== 404;
}

function fileReason(exchanges: readonly Exchange[], state: GivenState, { facts }: Circumstances): string | null {
  const touches = exchanges.some(({ operation, response }) => {
    return (operation === 'getConfig' || operation === 'putConfig') && response.status !== 401;
  });
  if (!state.hasFile && touches && facts.config !== 'none') return 'needs a server without a configuration file';
  if (!state.hasFile || !needsConfiguration(exchanges)) return null;
  return facts.config === 'none' ? 'needs a server with a configuration file' : REPLACES_CONFIGURATION;
}

function keyReason(exchanges: readonly Exchange[], { keys }: GivenState, { writes }: Circumstances): string | null {
  if (writes || keys.length === 0) return null;
  const known = new Set(keys.map(({ accessKey }) => accessKey));
  const asks = exchanges.some((exchange) => {
    const matched = matchRequest(exchange.request);
    if (matched === null || exchange.response.status === 401 || matched.operation.subject !== 'keys') return false;
    return matched.keySegment === null || known.has(decoded(matched.keySegment));
  });
  return asks ? 'needs keys of its own: needs --writes' : null;
}

function linkReason(
  { given }: Scenario,
  exchanges: readonly Exchange[],
  state: GivenState,
  { facts, revision, isCompared = false }: Circumstances,
): string | null {
  const links = exchanges.some((each) => {
    return matchRequest(each.request)?.operation.name === 'subscribe' && isLink(each.response.body);
  });
  if (!links) return null;
  const hasCarriers = isJsonObject(facts.endpoint) && isJsonObject(facts.endpoint.tls);
  if (hasCarriers || state.root?.domain !== undefined || state.root?.tls !== undefined) return REPLACES_CONFIGURATION;
  const query = given.server?.shareQuery ?? '';
  const configured = facts.announced?.query;
  const wanted = revision.shareQuery.query(query, state.dnsEnabled);
  if (!isCompared && configured !== undefined && revision.shareQuery.query(configured, state.dnsEnabled) !== wanted)
    return `needs the share link's query ${JSON.stringify(query)}, which is set at the server's start`;
  if (state.dnsEnabled === facts.dnsEnabled) return null;
  const why = `needs DNS to be ${state.dnsEnabled ? 'on' : 'off'}`;
  const hasFile = facts.config !== null && facts.config !== 'none';
  return hasFile ? `${why}: ${REPLACES_CONFIGURATION}` : why;
}

function isLink(body: Exchange['response']['body']): boolean {
  return isJsonObject(body) && (typeof body.data === 'string' || body.links !== undefined);
}

/** A recording of a live server may only change what it has made itself. */
function recordingReason(exchanges: readonly Exchange[], { facts, revision }: Circumstances): string | null {
  const canSignIn = revision.capabilities.login !== undefined;
  const signsIn =
    canSignIn && exchanges.some(({ operation, response }) => operation === 'login' && response.status === 200);
  if (signsIn && !facts.hasOperator && !facts.isOpen) return 'signs in: needs --username and the password';
  const authorized = exchanges.some((each) => authorizationOf(each) !== undefined && each.response.status !== 401);
  if (authorized && !signsIn && !facts.isOpen && !facts.hasToken && !facts.hasOperator)
    return 'needs --token, or --username and the password';
  return foreignKeyReason(exchanges);
}

function foreignKeyReason(exchanges: readonly Exchange[]): string | null {
  const made = new Set<string>();
  for (const [index, exchange] of exchanges.entries()) {
    const { response } = exchange;
    const matched = matchRequest(exchange.request);
    if (matched === null) continue;
    if (makesKeys(matched.operation)) {
      for (const key of response.status === 200 && isJsonObject(response.body) ? keysNamed(response.body.data) : [])
        made.add(key);
    } else if (
      matched.keySegment !== null &&
      matched.operation.effect.kind !== 'reads' &&
      response.status < 400 &&
      !made.has(decoded(matched.keySegment))
    )
      return `step ${index + 1} changes a key that the scenario does not make`;
  }
  return null;
}
