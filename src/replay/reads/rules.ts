import { DomainError } from '../../core/errors.js';
import type { TrafficCounters } from '../../core/model.js';
import { clientConfig } from '../../wire/client-config.js';
import { JSON_TYPE } from '../../wire/envelope.js';
import { decodeError, encodeError } from '../../wire/errors.js';
import { encodeJson } from '../../wire/json/encode.js';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../wire/json/json.js';
import { OPERATIONS, type Operation, type OperationName, operationsOf, serves } from '../../wire/operations.js';
import type { Revision } from '../../wire/traits/revision.js';
import type { AnswerDifference } from '../compare.js';
import { corsDifferences } from '../cors.js';
import { jsonDifferences } from '../json-difference.js';
import { shapeDifferences } from './answer-shape.js';
import type { Look, Seen } from './look.js';

/** What one rule of a revision's record came to on a server. */
export interface Finding {
  /** Name of the rule, or of the operation whose answer was looked at. */
  readonly rule: string;
  readonly title: string;
  /** Of an operation that was called; null for a rule. */
  readonly operation: OperationName | null;
  /** `unseen`: no read showed it. */
  readonly outcome: 'holds' | 'differs' | 'unseen';
  /** Why it was not seen; null otherwise. */
  readonly reason: string | null;
  readonly differences: readonly ReadDifference[];
}

/** One place where an answer is not what the revision's record says, with the request that it answers. */
export interface ReadDifference extends AnswerDifference {
  readonly request: string;
}

/** What a rule found, or why it could not be seen. */
type Found = readonly ReadDifference[] | { readonly unseen: string };

/** One rule, looked at in the light of one revision. */
interface Rule {
  readonly name: string;
  readonly title: string;
  look(at: At): Promise<Found>;
}

/** Where a rule looks, and by whose record. */
interface At {
  readonly look: Look;
  readonly revision: Revision;
  readonly api: string;
  readonly base: string;
}

/** What nobody has: a key, a path and two tokens. */
const UNKNOWN_KEY = 'keyway-no-such-key';
const NO_PATH = '/keyway-no-such-path';
const WRONG = 'keyway-wrong-token';
const ORIGIN = 'https://origin.invalid';

/** How many keys are asked for one by one. */
const SINGLE_KEYS = 3;

const NEEDS_CREDENTIAL = 'the API asks for a credential: needs --token, or --username and the password';
const NO_KEY = 'no key stands there';

/**
 * Holds a server against a revision's record, by reads alone. One finding for each rule and each read operation, in the same
 * order every time; where nothing answers at the revision's API root, the one that says so. Rejects when there is no answer.
 */
export async function findingsOf(look: Look, revision: Revision): Promise<readonly Finding[]> {
  const { api, base } = revision.root.paths(look.webpath);
  const at: At = { look, revision, api, base };
  const root = findingOf(ROOT, null, await ROOT.look(at));
  if (root.outcome === 'differs') return [root];
  const findings: Finding[] = [root];
  for (const rule of RULES) findings.push(findingOf(rule, null, await rule.look(at)));
  for (const operation of operationsOf(revision).filter(({ effect }) => effect.kind === 'reads')) {
    const rule = { name: operation.name, title: operation.summary };
    findings.push(findingOf(rule, operation.name, await lookAtOperation(operation, at)));
  }
  return findings;
}

function findingOf(rule: Pick<Rule, 'name' | 'title'>, operation: OperationName | null, found: Found): Finding {
  const { name, title } = rule;
  if ('unseen' in found)
    return { rule: name, title, operation, outcome: 'unseen', reason: found.unseen, differences: [] };
  const outcome = found.length === 0 ? 'holds' : 'differs';
  return { rule: name, title, operation, outcome, reason: null, differences: found };
}

/** The rule that everything else rests on. */
export const API_ROOT_RULE = 'api-root';

const ROOT: Rule = {
  name: API_ROOT_RULE,
  title: 'the API answers at its root',
  async look({ look, api }) {
    const path = `${api}/server/status`;
    const { answer, envelope } = await look.read({ method: 'GET', path, authorization: null });
    if (envelope !== null && (answer.status === 200 || answer.status === 401)) return [];
    const actual = `${answer.status}, ${envelope === null ? 'no envelope' : 'an envelope'}`;
    return [{ request: `GET ${path}`, where: 'status', expected: '200 or 401, an envelope', actual }];
  },
};

const RULES: readonly Rule[] = [
  { name: 'operations', title: 'exactly its operations are served', look: lookAtPresence },
  { name: 'auth', title: 'who is let in', look: lookAtAuth },
  { name: 'online', title: 'when a key is online', look: lookAtOnline },
  { name: 'share-link', title: 'share links, and the client configuration beside them', look: lookAtShareLink },
  { name: 'panel', title: 'the panel and its missing files', look: lookAtPanel },
  { name: 'no-such-path', title: 'a path that nobody serves', look: lookAtNoPath },
  { name: 'cors', title: 'pages of other origins may call', look: lookAtCors },
];

/** The names of all rules, those of operations apart. */
export const RULE_NAMES: readonly string[] = [ROOT, ...RULES].map(({ name }) => name);

function pathOf({ path }: Operation, { api }: At, key = UNKNOWN_KEY): string {
  return api + path.replace('{key}', () => encodeURIComponent(key));
}

async function readWith(at: At, path: string, headers: Readonly<Record<string, string>> = {}, turn = 0): Promise<Seen> {
  const passing = await at.look.passing(at.api);
  return at.look.read({ method: 'GET', path, authorization: passing ?? null, headers, turn });
}

// Which operations there are.

async function lookAtPresence(at: At): Promise<Found> {
  const { look, revision } = at;
  const allowed = await allowedMethods(look, `${at.api}/server/status`);
  const differences: ReadDifference[] = [];
  for (const operation of OPERATIONS) {
    const isThere =
      operation.effect.kind === 'reads' && operation.method === 'GET'
        ? await answersAs(operation, at)
        : allowed === null
          ? null
          : (await allowedMethods(look, pathOf(operation, at)))?.has(operation.method) === true;
    const isServed = serves(revision, operation);
    if (isThere === null || isThere === isServed) continue;
    const words = (served: boolean) => (served ? 'served' : 'not served');
    const request = `${operation.method} ${operation.path}`;
    differences.push({ request, where: 'operation', expected: words(isServed), actual: words(isThere) });
  }
  return differences;
}

/** Whether a read is answered by the operation, rather than by the panel or by nobody. */
async function answersAs(operation: Operation, at: At): Promise<boolean> {
  const { answer, envelope } = await readWith(at, pathOf(operation, at));
  if (envelope === null) return false;
  if (answer.status === 200 || answer.status === 401) return true;
  const { errors } = at.revision;
  const failure = decodeError(errors, operation, { status: answer.status, text: envelope.error ?? '' });
  return failure !== null && operation.failures.some((name) => errors[name].code === failure.code);
}

/** The methods that a path has, as a preflight tells them; null where it does not. */
async function allowedMethods(look: Look, path: string): Promise<ReadonlySet<string> | null> {
  const headers = { origin: ORIGIN, 'access-control-request-method': 'GET' };
  const { answer } = await look.read({ method: 'OPTIONS', path, authorization: null, headers });
  const allow = answer.status === 200 ? answer.headers.get('allow') : undefined;
  return allow === undefined ? null : new Set(allow.split(',').map((each) => each.trim().toUpperCase()));
}

// The answers of one operation.

async function lookAtOperation(operation: Operation, at: At): Promise<Found> {
  const passing = await at.look.passing(at.api);
  if (passing === undefined && operation.access === 'protected') return { unseen: NEEDS_CREDENTIAL };
  // What is not served at all is told as that, once.
  if (!(await answersAs(operation, at))) return { unseen: 'it is not served there' };
  if (!operation.path.includes('{key}')) return lookAtPlain(operation, at);
  const keys = (await snapshots(at)).slice(0, SINGLE_KEYS).map(({ access_key: key }) => String(key));
  const unknown = await unknownKeyDifferences(operation, at);
  if (keys.length === 0) return unknown.length > 0 ? unknown : { unseen: NO_KEY };
  const found: ReadDifference[] = [...unknown];
  for (const key of keys) {
    const shown = `${operation.method} ${operation.path}`;
    const differences = answerDifferences(operation, at, shown, await readWith(at, pathOf(operation, at, key)));
    found.push(
      ...differences.filter(({ where }) => !found.some((each) => each.request === shown && each.where === where)),
    );
  }
  return found;
}

async function lookAtPlain(operation: Operation, at: At): Promise<readonly ReadDifference[]> {
  const shown = `${operation.method} ${operation.path}`;
  const path = pathOf(operation, at);
  // Open to everyone is looked at as anyone would.
  const asAnyone = { method: 'GET' as const, path, authorization: null };
  const seen = operation.access === 'open' ? await at.look.read(asAnyone) : await readWith(at, path);
  const found = answerDifferences(operation, at, shown, seen);
  const order = ORDERS[operation.name];
  if (order !== undefined && Array.isArray(seen.envelope?.data)) found.push(...order(seen.envelope.data, shown));
  return operation.name === 'getStatus' ? [...found, ...(await countDifferences(at, shown))] : found;
}

/** Status, content type, envelope and data of an answer; a failure of the operation's own is no difference. */
function answerDifferences(
  operation: Operation,
  at: At,
  request: string,
  { answer, envelope }: Seen,
): ReadDifference[] {
  const { revision } = at;
  const error = envelope?.error ?? null;
  if (answer.status !== 200 && error !== null) {
    const failure = decodeError(revision.errors, operation, { status: answer.status, text: error });
    if (failure !== null && operation.failures.some((name) => revision.errors[name].code === failure.code)) return [];
  }
  if (answer.status !== 200) return [{ request, where: 'status', expected: 200n, actual: BigInt(answer.status) }];
  const type = answer.headers.get('content-type');
  const found: ReadDifference[] = [];
  if (type !== JSON_TYPE) found.push({ request, where: 'header content-type', expected: JSON_TYPE, actual: type });
  if (envelope?.data === undefined || !envelope.ok)
    return [...found, { request, where: 'body', expected: 'an envelope with data', actual: 'another body' }];
  for (const name of envelope.others) found.push({ request, where: `body /${name}`, expected: undefined, actual: '' });
  const shape = shapeDifferences(operation.answer(revision), envelope.data, '/data');
  return [...found, ...oncePerPlace(shape.map((each) => ({ ...each, request, where: `body ${each.path}` })))];
}

const INDEX = /\/\d+(?=\/|$)/g;

/** The elements of a list differ in the same way: the first of them stands for all. */
function oncePerPlace(found: readonly (ReadDifference & { readonly path: string })[]): readonly ReadDifference[] {
  const places = new Map<string, ReadDifference>();
  for (const { path: _, ...each } of found) {
    const where = each.where.replaceAll(INDEX, '/*');
    if (!places.has(where)) places.set(where, { ...each, where });
  }
  return [...places.values()];
}

async function unknownKeyDifferences(operation: Operation, at: At): Promise<readonly ReadDifference[]> {
  const wanted = encodeError(at.revision.errors, operation, new DomainError('userNotFound'));
  const { answer, envelope } = await readWith(at, pathOf(operation, at));
  const request = `${operation.method} ${operation.path.replace('{key}', UNKNOWN_KEY)}`;
  return [
    ...differing(request, 'status', BigInt(wanted.status), BigInt(answer.status)),
    ...differing(request, 'body /error', wanted.text, envelope?.error ?? undefined),
  ];
}

function differing(
  request: string,
  where: string,
  expected: JsonValue,
  actual: JsonValue | undefined,
): ReadDifference[] {
  return expected === actual ? [] : [{ request, where, expected, actual }];
}

/** The orders that the protocol gives lists. */
const ORDERS: Partial<
  Readonly<Record<OperationName, (list: readonly JsonValue[], request: string) => ReadDifference[]>>
> = {
  listUsers: (list, request) => orderDifferences(list, request, 'bytes_down', (before, after) => before >= after),
  listDnsQueries: (list, request) => orderDifferences(list, request, 'timestamp', (before, after) => before <= after),
};

function orderDifferences(
  list: readonly JsonValue[],
  request: string,
  member: string,
  isRight: (before: bigint, after: bigint) => boolean,
): ReadDifference[] {
  const values = list.filter(isJsonObject).map((each) => each[member]);
  const at = values.findIndex((value, index) => {
    const before = values[index - 1];
    return typeof before === 'bigint' && typeof value === 'bigint' && !isRight(before, value);
  });
  if (at < 0) return [];
  return [
    { request, where: `body /data/${at}/${member}`, expected: `in order after ${values[at - 1]}`, actual: values[at] },
  ];
}

/** The counts of the status beside the list, as far as nothing changed between a status before and one after it. */
async function countDifferences(at: At, request: string): Promise<readonly ReadDifference[]> {
  const path = `${at.api}/server/status`;
  const before = (await readWith(at, path, {}, 1)).envelope?.data;
  const list = await snapshots(at);
  const after = (await readWith(at, path, {}, 2)).envelope?.data;
  const counts = {
    total_users: list.length,
    active_users: list.filter(({ bytes_up, bytes_down }) => isAbove(bytes_up) || isAbove(bytes_down)).length,
  };
  return Object.entries(counts).flatMap(([member, count]) => {
    const [first, last] = [before, after].map((each) => (isJsonObject(each) ? each[member] : undefined));
    return typeof first === 'bigint' && first === last
      ? differing(request, `body /data/${member}`, BigInt(count), first)
      : [];
  });
}

function isAbove(value: JsonValue | undefined): boolean {
  return typeof value === 'bigint' && value > 0n;
}

/** The keys as they are listed; none where the list cannot be read. */
async function snapshots(at: At): Promise<readonly JsonObject[]> {
  const { envelope } = await readWith(at, `${at.api}/users`);
  return Array.isArray(envelope?.data) ? envelope.data.filter(isJsonObject) : [];
}

// Who is let in.

async function lookAtAuth(at: At): Promise<Found> {
  const { look, revision, api } = at;
  const path = `${api}/server/status`;
  const anonymous = await look.read({ method: 'GET', path, authorization: null });
  if (anonymous.answer.status === 200) return { unseen: 'the API is open: no credential is asked for' };
  const differences: ReadDifference[] = [];
  for (const { authorization, words } of spellings(look)) {
    const passes = revision.auth
      .decode(authorization)
      .some(({ kind, secret }) => secret !== '' && secret === (kind === 'session' ? look.session : look.token));
    const { answer } = await look.read({ method: 'GET', path, authorization });
    const request = `GET /server/status, Authorization: ${words}`;
    differences.push(...differing(request, 'status', passes ? 200n : 401n, BigInt(answer.status)));
  }
  differences.push(...(await refusalDifferences(at)));
  if (differences.length > 0 || look.session !== null || look.token !== null) return differences;
  return { unseen: 'the right credential was not tried: needs --token, or --username and the password' };
}

/** The right credentials in each spelling, and three wrong ones. */
function spellings({ session, token }: Look): readonly { readonly authorization: string; readonly words: string }[] {
  const both = (secret: string | null, name: string) =>
    secret === null
      ? []
      : [
          { authorization: `Bearer ${secret}`, words: `Bearer ${name}` },
          { authorization: secret, words: name },
        ];
  return [
    ...both(session, 'SESSION'),
    ...both(token, 'TOKEN'),
    ...both(WRONG, WRONG),
    { authorization: 'Bearer ', words: 'Bearer and nothing' },
  ];
}

/** Without a credential every protected read is refused in the same words. */
async function refusalDifferences(at: At): Promise<readonly ReadDifference[]> {
  const found: ReadDifference[] = [];
  for (const operation of operationsOf(at.revision)) {
    if (operation.access !== 'protected' || operation.effect.kind !== 'reads' || !(await answersAs(operation, at)))
      continue;
    const wanted = encodeError(at.revision.errors, operation, new DomainError('unauthorized'));
    const path = pathOf(operation, at);
    const { answer, envelope } = await at.look.read({ method: 'GET', path, authorization: null });
    const request = `GET ${operation.path} without a credential`;
    found.push(...differing(request, 'status', BigInt(wanted.status), BigInt(answer.status)));
    if (answer.status === wanted.status)
      found.push(...differing(request, 'body /error', wanted.text, envelope?.error ?? undefined));
  }
  return found;
}

// What snapshots and links say.

/** As far as counters tell: a key with traffic has some, one with zeros may have some or none. */
async function lookAtOnline(at: At): Promise<Found> {
  if ((await at.look.passing(at.api)) === undefined) return { unseen: NEEDS_CREDENTIAL };
  const list = await snapshots(at);
  if (list.length === 0) return { unseen: NO_KEY };
  const { online } = at.revision;
  let isTold = false;
  const differences = new Map<string, ReadDifference>();
  for (const each of list) {
    const counters = countersOf(each);
    const isIdle = counters.bytesUp + counters.bytesDown + counters.connections === 0n;
    const possible = new Set([online.isOnline(counters), ...(isIdle ? [online.isOnline(null)] : [])]);
    isTold ||= possible.size === 1;
    if (typeof each.online !== 'boolean' || possible.has(each.online)) continue;
    const request = `GET /users, a key with ${counters.connections} connections and ${isIdle ? 'no ' : ''}traffic`;
    differences.set(request, { request, where: 'body /data/*/online', expected: !each.online, actual: each.online });
  }
  return differences.size > 0 || isTold ? [...differences.values()] : { unseen: 'no key has traffic' };
}

function countersOf({ bytes_up, bytes_down, connections }: JsonObject): TrafficCounters {
  const count = (value: JsonValue | undefined) => (typeof value === 'bigint' ? value : 0n);
  return {
    bytesUp: count(bytes_up),
    bytesDown: count(bytes_down),
    connections: count(connections),
    limitBytes: null,
    createdAt: 0,
  };
}

async function lookAtShareLink(at: At): Promise<Found> {
  if ((await at.look.passing(at.api)) === undefined) return { unseen: NEEDS_CREDENTIAL };
  const [first] = await snapshots(at);
  if (first === undefined) return { unseen: NO_KEY };
  const key = String(first.access_key);
  const path = `${at.api}/subscribe/${encodeURIComponent(key)}`;
  const link = (await readWith(at, path, { accept: 'text/plain' })).envelope?.data;
  const config = (await readWith(at, path)).envelope?.data;
  const address = isJsonObject(config) && typeof config.server === 'string' ? config.server : '';
  const request = 'GET /subscribe/{key}';
  const exact = jsonDifferences(exactConfig(key, address), config ?? null, { unordered: [], bindings: new Map() });
  const differences = exact.map(({ path: at, ...each }) => ({ ...each, request, where: `body /data${at}` }));
  return [...differences, ...(await linkDifferences(at, link, `://${key}@${address}`))];
}

/** The client configuration object that goes with a key and the address that the server announces. */
function exactConfig(accessKey: string, address: string): JsonValue {
  const server = { host: '', port: 0, shareScheme: '', shareQuery: '' };
  return { ...parsedObject(encodeJson(clientConfig(accessKey, server))), server: address };
}

function parsedObject(text: string): JsonObject {
  const value = parseJson(Buffer.from(text));
  return isJsonObject(value) ? value : {};
}

async function linkDifferences(
  at: At,
  link: JsonValue | undefined,
  middle: string,
): Promise<readonly ReadDifference[]> {
  const request = 'GET /subscribe/{key}, Accept: text/plain';
  const from = typeof link === 'string' ? link.indexOf(middle) : -1;
  if (typeof link !== 'string' || from < 0)
    return [{ request, where: 'body /data', expected: 'SCHEME://KEY@HOST:PORT QUERY', actual: link }];
  const query = link.slice(from + middle.length);
  const dns = await dnsEnabled(at);
  const configured = Array.from({ length: query.length + 1 }, (_, end) => query.slice(0, end));
  const { shareQuery } = at.revision;
  const isPossible = configured.some((each) => dns.some((enabled) => shareQuery.query(each, enabled) === query));
  return isPossible
    ? []
    : [{ request, where: 'body /data, its query', expected: `<${shareQuery.name}>`, actual: query }];
}

/** Whether DNS may be on: by its own endpoint for sure; the file says only what the next start brings. */
async function dnsEnabled(at: At): Promise<readonly boolean[]> {
  const { envelope } = await readWith(at, `${at.api}/dns/config`);
  const enabled = isJsonObject(envelope?.data) ? envelope.data.enabled : undefined;
  return typeof enabled === 'boolean' ? [enabled] : [true, false];
}

// What stands beside the API.

async function lookAtPanel(at: At): Promise<Found> {
  const { panel } = at.revision.capabilities;
  if (panel === undefined) return { unseen: 'this revision has no panel' };
  const get = async (path: string) =>
    (await at.look.read({ method: 'GET', path: at.base + path, authorization: null })).answer;
  const index = await get('/');
  if (index.status === 404) return { unseen: 'no panel is served there' };
  const redirect = await get('');
  const page = (request: string, status: number, type: string | undefined) => [
    ...differing(request, 'status', 200n, BigInt(status)),
    ...(status === 200 ? differing(request, 'header content-type', 'text/html', type?.split(';')[0]) : []),
  ];
  const found = [
    ...page('GET {base}/', index.status, index.headers.get('content-type')),
    ...differing('GET {base}', 'status', 308n, BigInt(redirect.status)),
  ];
  for (const path of [NO_PATH, `${NO_PATH}.css`]) {
    const { status, headers } = await get(path);
    const request = `GET {base}${path}`;
    if (panel.missingFile.answersIndex(path)) found.push(...page(request, status, headers.get('content-type')));
    else found.push(...differing(request, 'status', 404n, BigInt(status)));
  }
  return found;
}

async function lookAtNoPath(at: At): Promise<Found> {
  const { envelope } = await readWith(at, at.api + NO_PATH);
  if (envelope?.ok !== true) return [];
  return [{ request: `GET ${NO_PATH}`, where: 'body /ok', expected: 'no success', actual: true }];
}

async function lookAtCors({ look, api }: At): Promise<Found> {
  const path = `${api}/server/status`;
  const preflight = {
    origin: ORIGIN,
    'access-control-request-method': 'GET',
    'access-control-request-headers': 'authorization,content-type',
  };
  const permitted = ['origin', 'methods', 'headers'].map((name) => [`access-control-allow-${name}`, '*'] as const);
  const asked = async (
    method: 'GET' | 'OPTIONS',
    headers: Readonly<Record<string, string>>,
    wanted: typeof permitted,
  ) => {
    const { answer } = await look.read({ method, path, authorization: null, headers });
    const differences = corsDifferences(new Map(wanted), answer.headers, new Map(Object.entries(headers)));
    return differences.map((each) => ({ ...each, request: `${method} /server/status from ${ORIGIN}` }));
  };
  return [
    ...(await asked('GET', { origin: ORIGIN }, permitted.slice(0, 1))),
    ...(await asked('OPTIONS', preflight, permitted)),
  ];
}
