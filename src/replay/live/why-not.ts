import type { Target } from '../../client/call.js';
import { isJsonObject, jsonIn, LAST_WINS } from '../../wire/json/json.js';
import type { Effect, Subject } from '../../wire/operations/operation.js';
import { OPERATIONS } from '../../wire/operations.js';
import type { Revision } from '../../wire/traits/revision.js';
import { decoded, effectOf, keysNamed, makesKeys, matchRequest } from '../format/effects.js';
import { type GivenState, givenStateOf, hasGivenState, isOpenState, isPassword } from '../format/given-state.js';
import { type Exchange, exchangesOf, isExchange, type Scenario, type Step } from '../format/scenario.js';
import type { TargetFacts } from './target-facts.js';

/** The operator's permissions on a live server. */
export interface Permissions {
  /** Keys may be made and removed. */
  readonly writes: boolean;
  /** The configuration, rules, DNS settings and audit list may be replaced, and are put back. */
  readonly destructive: boolean;
}

export interface Circumstances {
  readonly facts: TargetFacts;
  readonly permissions: Permissions;
  readonly revision: Revision;
  readonly target: Target;
  /** Compares answers with another server's, so that the scenario's own need not fit; false when left out. */
  readonly isCompared?: boolean;
}

/** One reason why a scenario cannot be played on a live server, or null when it can. */
export function whyNot(scenario: Scenario, at: Circumstances): string | null {
  const exchanges = exchangesOf(scenario);
  return (
    ownInterfaceReason(exchanges) ??
    ownReason(scenario) ??
    outsideReason(scenario.exchanges) ??
    permissionReason(exchanges, at.permissions) ??
    (hasGivenState(scenario) ? stateReason(scenario, exchanges, at) : recordingReason(exchanges, at))
  );
}

/**
 * The part of a scenario that is played on a live server, which of its steps are left out, and why: a step that a server could
 * not be cleaned of is not played, nor what rests on its success.
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

/** Rows that only Keyway goes by: it takes what other servers refuse, or refuses what they take, so that what follows differs. */
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

/** Everything that these requests may do. */
export function effectsOf(exchanges: readonly Exchange[]): ReadonlySet<Effect> {
  return new Set(exchanges.map(({ request }) => effectOf(request)));
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

/** The subjects that a run puts back after a scenario has replaced them. */
const PUT_BACK: ReadonlySet<Subject> = new Set(['configuration', 'rules', 'dns', 'audit']);

/** By the order of the operations, so that of several reasons it is always the same that is told. */
function permissionReason(exchanges: readonly Exchange[], { writes, destructive }: Permissions): string | null {
  const matched = new Set(exchanges.map((each) => matchRequest(each.request)?.operation));
  const asked = OPERATIONS.filter((each) => matched.has(each));
  for (const { effect, subject } of asked) {
    if (effect.kind !== 'destroys') continue;
    if (!PUT_BACK.has(subject)) return `${effect.does}: what was there could not be put back`;
    if (!destructive) return `${effect.does}: needs --destructive`;
  }
  if (writes) return null;
  // The name and password of the run are the permission to sign in.
  const known = asked.filter(({ subject }) => subject !== 'session').map(({ effect }) => effect);
  const effects = [...known, ...effectsOf(exchanges.filter((each) => matchRequest(each.request) === null))];
  const writing = effects.find((each) => each.kind === 'writes');
  return writing === undefined ? null : `${writing.does}: needs --writes`;
}

/** The reason why a scenario with a given state cannot be played there, or null. */
function stateReason(scenario: Scenario, exchanges: readonly Exchange[], at: Circumstances): string | null {
  const state = givenStateOf(scenario);
  return (
    (state.hasTraffic ? 'needs traffic counters, which the API cannot give' : null) ??
    credentialReason(exchanges, state, at) ??
    webpathReason(exchanges, state, at) ??
    fileReason(scenario, exchanges, state, at) ??
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
    isJsonObject(body) && typeof body.password === 'string' && isPassword(body.password, state.credentials);
}

function authorizationOf({ request }: Exchange): string | undefined {
  return Object.entries(request.headers ?? {}).find(([name]) => name.toLowerCase() === 'authorization')?.[1];
}

function isBearer(exchange: Exchange, token: string | null): boolean {
  return token !== null && authorizationOf(exchange) === `Bearer ${token}`;
}

/** Tells whether the scenario's static token only lets it in, so that any other credential may stand for it. */
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

/** Tells whether these requests need the scenario's own configuration on the server. */
export function needsConfiguration(exchanges: readonly Exchange[]): boolean {
  return exchanges.some((exchange) => {
    const operation = matchRequest(exchange.request)?.operation;
    if (operation === undefined || !OF_CONFIGURATION.has(operation.subject)) return false;
    return operation.effect.kind !== 'reads' || isServed(exchange);
  });
}

/** Tells whether a request gets past the access check and finds something to read. */
function isServed({ response }: Exchange): boolean {
  return response.status !== 401 && response.status !== 404;
}

const REPLACES_INBOUNDS = 'replaces a configuration with "inbounds", which holds more than can be put back safely';

function fileReason(
  { then }: Scenario,
  exchanges: readonly Exchange[],
  state: GivenState,
  { facts, permissions }: Circumstances,
): string | null {
  const touches = exchanges.some(({ operation, response }) => {
    return (operation === 'getConfig' || operation === 'putConfig') && response.status !== 401;
  });
  if (!state.hasFile && touches && facts.config !== 'none') return 'needs a server without a configuration file';
  if (!state.hasFile || !needsConfiguration(exchanges)) return null;
  if (facts.config === 'none') return 'needs a server with a configuration file';
  if (!permissions.destructive) return 'needs its own configuration there: needs --destructive';
  if (facts.config === null) return 'the configuration that stands there cannot be read, so not be put back';
  if (then?.compare === 'bytes') return 'compares the file byte for byte, which the API does not show';
  if (state.root === null) return 'needs a file that is no configuration, which the API cannot give';
  if (state.hasInbounds || Array.isArray(facts.config.inbounds)) return REPLACES_INBOUNDS;
  if (
    exchanges.some(
      (each) => matchRequest(each.request)?.operation.name === 'putConfig' && each.request.text !== undefined,
    )
  )
    return 'replaces the file with exact bytes, which would drop the keys of others';
  return null;
}

function keyReason(
  exchanges: readonly Exchange[],
  { keys }: GivenState,
  { permissions }: Circumstances,
): string | null {
  if (permissions.writes || keys.length === 0) return null;
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
  { facts, revision, permissions, isCompared = false }: Circumstances,
): string | null {
  const links = exchanges.some((each) => {
    return matchRequest(each.request)?.operation.name === 'subscribe' && isLink(each.response.body);
  });
  if (!links) return null;
  const query = given.server?.shareQuery ?? '';
  const configured = facts.announced?.query;
  const wanted = revision.shareQuery.query(query, state.dnsEnabled);
  if (!isCompared && configured !== undefined && revision.shareQuery.query(configured, state.dnsEnabled) !== wanted)
    return `needs the share link's query ${JSON.stringify(query)}, which is set at the server's start`;
  if (state.dnsEnabled === facts.dnsEnabled) return null;
  if (revision.capabilities.config === undefined || facts.config === null || facts.config === 'none')
    return `needs DNS to be ${state.dnsEnabled ? 'on' : 'off'}`;
  if (!permissions.destructive) return `needs DNS to be ${state.dnsEnabled ? 'on' : 'off'}: needs --destructive`;
  return state.hasInbounds || Array.isArray(facts.config.inbounds) ? REPLACES_INBOUNDS : null;
}

function isLink(body: Exchange['response']['body']): boolean {
  return isJsonObject(body) && typeof body.data === 'string';
}

/** A recording of a live server: it may only change what it makes itself. */
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
