import { createHash } from 'node:crypto';
import { isJsonObject, type JsonValue } from '../../wire/json/json.js';
import { writeJson } from '../../wire/json/write-json.js';
import type { Revision } from '../../wire/traits/revision.js';
import { matchRequest } from '../format/effects.js';
import { isAcceptedLogin } from '../format/given-state.js';
import { mapTexts } from '../format/map-texts.js';
import { type Bindings, createBindings, fillText } from '../format/placeholders.js';
import { type Exchange, exchangesOf, type GivenListener, type Scenario } from '../format/scenario.js';
import { STAND_IN } from '../format/secrets.js';

const NUMBERED = /<((?:key|name|text|secret):(\d+))>/g;

/** The server that the values are for. */
interface StandingFor {
  /** Its operator's name; undefined if unknown. */
  readonly username?: string | undefined;
  /** The revision that it speaks; may be absent if it has a login. */
  readonly traits?: Revision;
}

/**
 * Returns values for placeholders that the client sent first. Accepted credentials become the run's own, an accepted
 * login's name becomes `username` if that is known; refused ones become a wrong one; keys stay unbound unless the
 * client created them or the server did not know them.
 */
export function standInsFor(scenario: Scenario, unique: string, { username, traits }: StandingFor = {}): Bindings {
  const bindings = createBindings(scenario.anonymous === true);
  // The run's own credential replaces a session that no login returns or no answer contains.
  const answers = writeJson(exchangesOf(scenario).map(({ response }) => response.body ?? null));
  const canLogin = traits === undefined || traits.capabilities.login !== undefined;
  for (const name of sessionsIn(scenario)) {
    if (!canLogin || !answers.includes(`<${name}>`)) bindings.set(name, STAND_IN.token);
  }
  const told = new Set<string>();
  const exchanges = exchangesOf(scenario);
  const operatorNames = new Set(exchanges.filter(isAcceptedLogin).map(usernameOf));
  for (const exchange of exchanges) {
    for (const [, name = ''] of writeJson(requestOf(exchange)).matchAll(NUMBERED)) {
      if (told.has(name) || bindings.has(name)) continue;
      const isOperator = operatorNames.has(`<${name}>`);
      const value = isOperator && username !== undefined ? username : standIn(name, exchange, unique);
      if (value !== null) bindings.set(name, value);
    }
    for (const [, name = ''] of writeJson(exchange.response.body ?? null).matchAll(NUMBERED)) told.add(name);
  }
  return bindings;
}

/** Lists the names of the session tokens (`session:1`) in a scenario's requests. */
export function sessionsIn(scenario: Scenario): readonly string[] {
  const requests = exchangesOf(scenario).map((each) => writeJson(requestOf(each)));
  return [...new Set(requests.flatMap((text) => [...text.matchAll(/<(session:\d+)>/g)].map(([, name = '']) => name)))];
}

/**
 * Makes a recording playable on an embedded core: every placeholder in the inferred state has a value, and the listener
 * has the run's own credentials if the session used any.
 */
export function withStandIns(scenario: Scenario, unique: string): { scenario: Scenario; bindings: Bindings } {
  const bindings = standInsFor(scenario, unique);
  const { config, counters = [], ...rest } = scenario.given;
  for (const [, name = ''] of writeJson([config ?? null]).matchAll(NUMBERED)) {
    if (bindings.has(name)) continue;
    const [kind = '', number = ''] = name.split(':');
    if (kind === 'key') bindings.set(name, `${unique}${number}`);
    else if (kind === 'text') bindings.set(name, textFor(memberOf(config ?? null, `<${name}>`), number));
    else bindings.set(name, `${kind} ${number}`);
  }
  const fill = (text: string) => fillText(text, bindings);
  const filled = config === undefined ? undefined : mapTexts(config, fill, fill);
  const given = {
    ...rest,
    ...(filled === undefined ? {} : { config: filled }),
    counters: counters.map((each) => ({ ...each, access_key: fill(each.access_key) })),
    ...(isClosed(scenario) ? { listener: listenerFor(scenario, bindings) } : {}),
  };
  return { scenario: { ...scenario, given }, bindings };
}

/** Tells whether the session met a server that requires a credential. */
function isClosed(scenario: Scenario): boolean {
  return exchangesOf(scenario).some(({ operation, request, response }) => {
    return response.status === 401 || operation === 'login' || request.headers?.authorization !== undefined;
  });
}

function listenerFor(scenario: Scenario, bindings: Bindings): GivenListener {
  const login = exchangesOf(scenario).find(isAcceptedLogin);
  const name = login === undefined ? '' : usernameOf(login);
  return {
    token: STAND_IN.token,
    webpath: '',
    username: name === '' ? STAND_IN.username : fillText(name, bindings),
    password_hash: createHash('sha256').update(STAND_IN.password).digest('hex'),
  };
}

function usernameOf({ request: { body } }: Exchange): string {
  return isJsonObject(body) && typeof body.username === 'string' ? body.username : '';
}

function requestOf({ request }: Exchange): JsonValue {
  return [request.path, { ...request.headers }, request.body ?? null, request.text ?? ''];
}

function standIn(name: string, exchange: Exchange, unique: string): string | null {
  const [kind = '', number = ''] = name.split(':');
  const placeholder = `<${name}>`;
  if (kind === 'secret') return secretFor(placeholder, exchange, number);
  if (kind === 'name') return `name ${number}`;
  if (kind === 'key') return isUnknownOrNew(placeholder, exchange) ? `${unique}${number}` : null;
  return textFor(memberOf(exchange.request.body ?? null, placeholder), number);
}

function secretFor(placeholder: string, { request, response }: Exchange, number: string): string {
  const refused = response.status === 401;
  const authorization = Object.entries(request.headers ?? {}).some(
    ([name, value]) => name === 'authorization' && value.includes(placeholder),
  );
  if (refused) return `wrong-${number}`;
  if (authorization) return STAND_IN.token;
  return matchRequest(request)?.operation.name === 'login' ? STAND_IN.password : `secret-${number}`;
}

/** Tells whether the client makes the key, or the server does not know it. */
function isUnknownOrNew(placeholder: string, { operation, request, response }: Exchange): boolean {
  const { body } = request;
  const makes = operation === 'createUser' && isJsonObject(body) && body.access_key === placeholder;
  return makes || response.status === 400 || response.status === 404;
}

/** Returns the member in which a text first occurs, so that its replacement has the form that servers require there. */
function memberOf(value: JsonValue, text: string, member = ''): string | null {
  if (typeof value === 'string') return value.includes(text) ? member : null;
  if (Array.isArray(value)) return first(value.map((each: JsonValue) => memberOf(each, text, member)));
  if (!isJsonObject(value)) return null;
  return first(
    Object.entries(value).map(([name, each]) => {
      if (name.includes(text)) return 'domain';
      return memberOf(each, text, member === 'custom_domains' ? member : name);
    }),
  );
}

function first(found: readonly (string | null)[]): string | null {
  return found.find((each) => each !== null) ?? null;
}

function textFor(member: string | null, number: string): string {
  switch (member) {
    case 'doh_upstream':
    case 'adblock_urls':
      return `https://text-${number}.example/`;
    case 'custom_domains':
      return `192.0.2.${Number(number) % 250}`;
    case 'listen':
    case 'bind':
      return `text-${number}.example:50000`;
    case 'ip_cidr':
      return `192.0.2.${Number(number) % 250}/32`;
    default:
      return `text-${number}.example`;
  }
}
