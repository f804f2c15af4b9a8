import { type Answer, type Caller, isSuccess, NoAnswer } from '../client/call.js';
import { createCaller } from '../client/caller.js';
import type { Lines } from '../client/find-line.js';
import { messageOf } from '../core/errors.js';
import type { AccessKey } from '../core/model.js';
import type { ClockPort, RandomPort } from '../core/ports.js';
import { decoded, keysNamed, type MatchedRequest, makesKeys, matchOperation } from '../replay/format/effects.js';
import { elementOf, keyOf } from '../replay/format/given-state.js';
import { mapTexts } from '../replay/format/map-texts.js';
import { decompressed, isBelow } from '../replay/record/describe.js';
import { dataIn, isJsonObject, type JsonObject, type JsonValue, jsonIn } from '../wire/json/json.js';
import { writeJson } from '../wire/json/write-json.js';
import type { Subject } from '../wire/operations/operation.js';
import { OPERATIONS, type Operation, type OperationName } from '../wire/operations.js';
import type { Revision } from '../wire/traits/revision.js';
import { AskedServer, findServer, keysIn, saysSame } from './asked-server.js';
import { type ExpectedDifference, Judge, type ShadowDifference } from './judge.js';
import { openCore, openServer, type SecondServer, type ShadowSide } from './sides.js';
import { type DifferenceKind, type Outcome, programOf, type Tally } from './tally.js';
import { keysWritten, LARGE, machineTime, type Passed } from './traffic.js';

export interface MirrorOptions {
  readonly target: {
    readonly origin: string;
    readonly webpath: string;
    /** The line that it is said to speak; null to go by its version. */
    readonly revision: Revision | null;
    /** The static token; null to go by the first credential of a client that it accepts. */
    readonly token: string | null;
    readonly ca: Buffer | null;
  };
  /** The line of an embedded core, or a second server. */
  readonly shadow: { readonly line: string } | SecondServer;
  /** Makes the second server's keys those of the target before anything is compared. */
  readonly prepares: boolean;
  readonly expected: readonly ExpectedDifference[];
  readonly timeoutMilliseconds: number;
  /** Milliseconds between two looks at the keys of both. */
  readonly followEvery: number;
  readonly lines: Lines;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly tally: Tally;
  /** Told of an exchange that showed kinds of differences for the first time. */
  readonly onDifference: (passed: Passed, kinds: readonly DifferenceKind[], target: AskedServer) => void;
}

/** The shadow is not to be used as it was asked for: a reason for people. */
export class ShadowRefused extends Error {
  /** The differences, a line each. */
  readonly details: readonly string[];

  constructor(message: string, details: readonly string[]) {
    super(message);
    this.name = 'ShadowRefused';
    this.details = details;
  }
}

interface Begun {
  readonly target: AskedServer;
  readonly shadow: ShadowSide;
  readonly judge: Judge;
  /** Milliseconds of the machine's clock: what began before is not compared. */
  readonly at: number;
}

const BEGIN_AGAIN = 5_000;
/** Each so many reads, one is asked of the target a second time, at most every so many milliseconds. */
const AGAIN_EACH = 50;
const AGAIN_EVERY = 1_000;
/** The most keys that are named where the two servers' keys differ, and that are set right one by one. */
const NAMED_KEYS = 20;

/** Gives a shadow what passes between clients and a target, keeps its state equal, and counts what it answers otherwise. */
export class Mirror {
  readonly #options: MirrorOptions;
  readonly #targetCaller: Caller;
  #begun: Begun | null = null;
  /** The `Authorization` that the target accepted last from a client; in memory alone. */
  #borrowed: string | null = null;
  #beginNotBefore = 0;
  /** Keys that the shadow is known to have otherwise. */
  #parted = new Set<string>();
  /** Subjects besides keys of which the target was told something that the shadow was not. */
  readonly #partedSubjects = new Set<Subject>();
  /** The times at which keys were held together out of turn, by the machine's clock: answers that were begun before say nothing of them. */
  readonly #setRight = new Map<string, number>();
  /** The last of them. */
  #setRightAt = 0;
  #followedAt = 0;
  #mustFollow = false;
  #reads = 0;
  #askedAgainAt = 0;

  constructor(options: MirrorOptions) {
    this.#options = options;
    const { origin, ca } = options.target;
    const { timeoutMilliseconds } = options;
    this.#targetCaller = createCaller({ origin, timeoutMilliseconds, ...(ca === null ? {} : { ca }) });
  }

  /** Begins where a credential for the target is known. Rejects with `ShadowRefused` alone. */
  async begin(): Promise<void> {
    if (this.#options.target.token !== null) await this.#tryToBegin();
  }

  /** Takes one exchange; to be awaited before the next. Rejects with `ShadowRefused` alone. */
  async take(passed: Passed): Promise<void> {
    const shown = passed.requestHeaders.get('authorization') ?? null;
    if (shown !== null && isSuccess(passed.status)) this.#borrowed = shown;
    if (this.#begun === null) await this.#tryToBegin();
    const begun = this.#begun;
    const matched = this.#matchedIn(passed);
    const client = programOf(passed.requestHeaders.get('user-agent'));
    const name = matched?.operation.name ?? (passed.method === 'OPTIONS' ? 'cors' : 'unmatched');
    const outcome = await this.#outcomeOf(passed, begun, matched).catch((error: unknown): Outcome => {
      if (error instanceof ShadowRefused) throw error;
      return { kind: 'left out', why: `the shadow could not be asked: ${causeOf(error)}` };
    });
    const fresh = this.#options.tally.add(client, name, outcome);
    if (fresh.length > 0 && begun !== null) this.#options.onDifference(passed, fresh, begun.target);
  }

  /** An exchange of an operation, or of none, never came here: what it may have changed at the target is looked for. */
  lost(operation: string): void {
    const lost = OPERATIONS.find(({ name }) => name === operation);
    if (operation === 'cors' || lost?.effect.kind === 'reads') return;
    this.#mustFollow = true;
    this.#partSubjects(lost);
  }

  /** Finds out what changed at the target without passing, when it is time. To be awaited between two exchanges. */
  async follow(): Promise<void> {
    if (this.#begun === null) return;
    if (!this.#mustFollow && machineTime() - this.#followedAt < this.#options.followEvery) return;
    this.#mustFollow = false;
    this.#followedAt = machineTime();
    try {
      await this.#followKeys(this.#begun);
    } catch (error) {
      this.#options.tally.note(`the keys of both could not be held together: ${messageOf(error)}`);
    }
  }

  async close(): Promise<void> {
    this.#targetCaller.close();
    await this.#begun?.shadow.close();
  }

  #matchedIn({ method, path }: Passed): MatchedRequest | null {
    const root = this.#begun?.target.found.target.apiRoot;
    const below = root === undefined ? (/\/api(\/.*)$/s.exec(path)?.[1] ?? path) : path.slice(root.length);
    return root !== undefined && !isBelow(path, root) ? null : matchOperation(method, below);
  }

  async #tryToBegin(): Promise<void> {
    const { target } = this.#options;
    const authorization = target.token === null ? this.#borrowed : `Bearer ${target.token}`;
    if (authorization === null || machineTime() < this.#beginNotBefore) return;
    try {
      this.#begun = await this.#beginWith(authorization);
      this.#partedSubjects.clear();
      this.#followedAt = machineTime();
      // Changes that came while it began are found at once.
      this.#mustFollow = true;
    } catch (error) {
      if (error instanceof ShadowRefused) throw error;
      this.#beginNotBefore = machineTime() + BEGIN_AGAIN;
      this.#options.tally.note(`the shadow could not begin: ${messageOf(error)}`);
    }
  }

  async #beginWith(authorization: string): Promise<Begun> {
    const { target: asked, shadow: wanted, lines, clock, random, tally, expected, prepares } = this.#options;
    const secret = authorization.replace(/^Bearer /, '');
    const caller = this.#targetCaller;
    const found = await findServer({ ...asked, caller, lines, secret });
    const current = () => Promise.resolve(asked.token === null ? this.#borrowed : authorization);
    const target = new AskedServer(found, current);
    const shadow =
      'line' in wanted
        ? await openCore(wanted.line, await configurationOf(target), { lines, clock, random })
        : await openServer(wanted, lines);
    try {
      const { revision, version, target: stands } = shadow.server.found;
      if (!('line' in wanted)) await this.#compareKeys({ target, shadow }, wanted.writes, prepares);
      const reported = { place: asked.origin, line: found.revision.id, version: found.version };
      tally.began(reported, { place: shadow.place, line: revision.id, version }, found.revision);
      const bases = { target: found.target.base, shadow: stands.base };
      const judge = new Judge({ from: found.revision, to: revision, bases, expected });
      return { target, shadow, judge, at: machineTime() };
    } catch (error) {
      await shadow.close();
      throw error;
    }
  }

  /** Holds the keys of a second server against the target's before the first comparison. */
  async #compareKeys(both: Pick<Begun, 'target' | 'shadow'>, writes: boolean, prepares: boolean): Promise<void> {
    const differing = await differingKeys(both);
    if (prepares) for (const [key, wanted] of differing) await setKey(both.shadow, key, wanted);
    const left = prepares ? await differingKeys(both) : differing;
    if (left.size === 0) return;
    const words = [...left.values()].map((wanted, index) => keyWords(index, wanted)).slice(0, NAMED_KEYS);
    const count = `${left.size} of its keys differ from the target's`;
    if (prepares) throw new ShadowRefused(`--prepare: ${count} all the same`, words);
    if (writes) throw new ShadowRefused(`${count}: give --prepare to make them equal, or leave --writes out`, words);
    this.#parted = new Set(left.keys());
    this.#options.tally.note(`${count}; these are left out`);
  }

  async #outcomeOf(passed: Passed, begun: Begun | null, matched: MatchedRequest | null): Promise<Outcome> {
    if (begun === null) return { kind: 'left out', why: 'no credential yet, or the shadow has not begun' };
    if (passed.startedAt < begun.at) {
      this.#mustFollow = true;
      if (isSuccess(passed.status)) this.#partSubjects(matched?.operation);
      return { kind: 'left out', why: 'it passed while the shadow began' };
    }
    const why = whyNotAsked(passed, begun, matched);
    if (why !== null) {
      if (matched?.operation.effect.kind !== 'reads' && isSuccess(passed.status)) this.#partBy(passed, matched);
      return { kind: 'left out', why };
    }
    return matched?.operation.name === 'listUsers' && passed.responseBody.length > LARGE
      ? this.#compareLists(passed, begun)
      : this.#compare(passed, begun, matched);
  }

  /** A write that the shadow does not get. */
  #partBy(passed: Passed, matched: MatchedRequest | null): void {
    for (const key of keysWritten(passed)) this.#parted.add(key);
    this.#partSubjects(matched?.operation);
  }

  #partSubjects(operation: Operation | undefined): void {
    if (operation === undefined || operation.effect.kind === 'reads' || operation.subject === 'keys') return;
    for (const each of SHOWN_WITH[operation.subject] ?? [operation.subject]) this.#partedSubjects.add(each);
    // A configuration holds keys.
    if (operation.subject === 'configuration') this.#mustFollow = true;
  }

  async #compare(passed: Passed, begun: Begun, matched: MatchedRequest | null): Promise<Outcome> {
    const { judge, target } = begun;
    const operation = matched?.operation ?? null;
    const key = matched === null || matched.keySegment === null ? null : decoded(matched.keySegment);
    const unclear = this.#whyUnclear(passed, matched, key);
    if (unclear !== null && operation?.effect.kind === 'reads') return { kind: 'left out', why: unclear };
    const { apiRoot } = target.found.target;
    const shadow = await this.#askShadow(passed, begun, matched);
    if (operation?.name === 'getStatus' && (await this.#isUpdated(passed, shadow, begun)))
      return { kind: 'left out', why: 'one of the two is of another version now' };
    if (shadow !== null && 'notCompared' in shadow) {
      if (operation?.name === 'putConfig') this.#partBy(passed, matched);
      return { kind: 'left out', why: shadow.notCompared };
    }
    const contested = operation === null || operation.effect.kind === 'reads' ? 'no' : contestOf(passed);
    if (contested === 'yes') return this.#leaveContested(passed, begun);
    const again = operation?.effect.kind === 'reads' ? await this.#askAgain(passed) : null;
    const differences = judge.differences({
      operation,
      method: passed.method,
      path: passed.path.slice(apiRoot.length),
      target: answerOf(passed),
      again,
      shadow,
      parted: new Set([...this.#parted, ...passed.beside.keys, ...this.#setRightSince(passed.startedAt)]),
    });
    if (differences.length > 0 && contested === 'perhaps') return this.#leaveContested(passed, begun);
    const wasFollowed = key !== null && (this.#setRight.get(key) ?? 0) > passed.startedAt;
    if (differences.length > 0 && wasFollowed) return { kind: 'left out', why: 'the key was set right meanwhile' };
    const isOfForm = operation?.effect.kind === 'reads' && differences.every(({ because }) => because !== null);
    if (differences.length > 0 && !isOfForm)
      await this.#setRightAfter(passed, begun, differences, key).catch((error: unknown) => {
        this.#mustFollow = true;
        this.#options.tally.note(`a key that differs could not be set right: ${causeOf(error)}`);
      });
    return { kind: 'compared', differences };
  }

  /** Nobody knows which of two writes came last: the keys are held together instead. */
  async #leaveContested(passed: Passed, begun: Begun): Promise<Outcome> {
    const keys = keysWritten(passed);
    await this.#equalize(keys, begun);
    // Also where both say the same: they say it of now, and what is still to be taken passed before.
    for (const key of keys) this.#markRight(key);
    return { kind: 'left out', why: 'two writes of the same overlapped' };
  }

  /** Begins anew where one of the two reports another version than it did. */
  async #isUpdated(passed: Passed, shadow: Answer | NotCompared | null, begun: Begun): Promise<boolean> {
    const versions = [
      ['target', begun.target.found.version, versionIn(answerOf(passed).body)],
      [
        'shadow',
        begun.shadow.server.found.version,
        versionIn(shadow !== null && 'body' in shadow ? shadow.body : undefined),
      ],
    ] as const;
    const [updated] = versions.filter(([, before, now]) => now !== null && now !== before);
    if (updated === undefined) return false;
    const [which, before, now] = updated;
    this.#options.tally.note(`the ${which} was of version ${before}, and is of ${now}: the shadow begins anew`);
    this.#begun = null;
    await begun.shadow.close();
    return true;
  }

  /** Why what both answer to a read may rightly differ, or null. */
  #whyUnclear({ beside, startedAt }: Passed, matched: MatchedRequest | null, key: string | null): string | null {
    // The status counts keys.
    const subject = matched?.operation.name === 'getStatus' ? 'keys' : (matched?.operation.subject ?? 'other');
    const isTouched =
      beside.subjects.some((each) => each === 'configuration' || each === subject || subject === 'configuration') ||
      (key !== null && beside.keys.includes(key));
    if (isTouched) return 'a write touched it between the two answers';
    if (this.#isParted(matched?.operation)) return 'it has changed since, which the shadow was not told';
    if (key === null) return null;
    if (this.#parted.has(key)) return 'the key has changed since, which the shadow was not told';
    return (this.#setRight.get(key) ?? 0) > startedAt ? 'the key was set right meanwhile' : null;
  }

  #isParted(operation: Operation | undefined): boolean {
    // Links say where names are asked for, which is DNS settings.
    const subject = operation?.name === 'subscribe' || operation?.name === 'getShare' ? 'dns' : operation?.subject;
    return subject !== undefined && this.#partedSubjects.has(subject);
  }

  #setRightSince(time: number): readonly string[] {
    if (this.#setRightAt <= time) return [];
    return [...this.#setRight].filter(([, at]) => at > time).map(([key]) => key);
  }

  async #askShadow(
    passed: Passed,
    { shadow, target }: Begun,
    matched: MatchedRequest | null,
  ): Promise<Answer | NotCompared | null> {
    const { found } = shadow.server;
    const operation = matched?.operation ?? null;
    if (operation?.name === 'login') return shadow.logIn(passed);
    const isBulk = operation?.name === 'bulkCreateUsers' && isSuccess(passed.status);
    if (isBulk && !shadow.isOurs) return (await createEach(passed, shadow)) ?? { notCompared: KEY_BY_KEY };
    const authorization = await shadow.authorization(passed, target.found.revision);
    const headers = new Map([...passed.requestHeaders].filter(([name]) => PASSED_ON.test(name)));
    if (authorization !== undefined) headers.set('authorization', authorization);
    const path = found.target.apiRoot + passed.path.slice(target.found.target.apiRoot.length);
    const body = await bodyFor(passed, matched, shadow);
    if ('notCompared' in body) return body;
    const call = { method: passed.method, path, headers, body: body.length === 0 ? undefined : body };
    try {
      const answer = await found.caller.send(call);
      return isBulk ? await withTheirKeys(answer, passed, shadow) : answer;
    } catch (error) {
      // Garbage, or an end half-way, is an answer of its kind; silence and no connection are none.
      if (error instanceof NoAnswer && error.kind === 'broken' && (await isAlive(shadow))) return null;
      throw error;
    }
  }

  /** Now and then the target's second answer to a read, which shows what differs by itself. */
  async #askAgain(passed: Passed): Promise<Answer | null> {
    this.#reads += 1;
    if (this.#reads % AGAIN_EACH !== 1 || machineTime() - this.#askedAgainAt < AGAIN_EVERY) return null;
    this.#askedAgainAt = machineTime();
    const { method, path } = passed;
    const headers = new Map([...passed.requestHeaders].filter(([name]) => PASSED_ON.test(name)));
    const shown = passed.requestHeaders.get('authorization');
    if (shown !== undefined) headers.set('authorization', shown);
    return this.#targetCaller.send({ method, path, headers, body: undefined }).catch(() => null);
  }

  /** A list that is too large for a tree: names and limits, key by key. */
  async #compareLists(passed: Passed, begun: Begun): Promise<Outcome> {
    const why = this.#whyUnclear(passed, matchOperation('GET', '/users'), null);
    if (why !== null) return { kind: 'left out', why };
    const { target, shadow } = begun;
    const lines = [target.found.revision, shadow.server.found.revision];
    const ofTarget = await keysIn(answerOf(passed).body, target.found.revision);
    const ofShadow = await shadow.server.keys(ofTarget);
    const unclear = new Set([...this.#parted, ...passed.beside.keys, ...this.#setRightSince(passed.startedAt)]);
    const differing = differencesOf(ofTarget, ofShadow, lines).filter(([key]) => !unclear.has(key));
    const differences = differing
      .slice(0, NAMED_KEYS)
      .map(([key, wanted]) => listDifference(wanted, ofShadow.get(key)));
    if (differing.length > 0) await this.#setAllRight(begun, new Map(differing));
    return { kind: 'compared', differences };
  }

  /** After a difference in the state, the shadow gets what the target has, so that it counts once. */
  async #setRightAfter(
    passed: Passed,
    begun: Begun,
    differences: readonly ShadowDifference[],
    key: string | null,
  ): Promise<void> {
    const named = differences.flatMap(({ where }) => /\/\[([^/]*)\]/.exec(where)?.[1] ?? []).map(unpointed);
    await this.#equalize([...named, ...keysWritten(passed), ...(key === null ? [] : [key])], begun);
  }

  /** Reads keys at both, and gives the shadow what the target has; many of them by a list. */
  async #equalize(keys: readonly string[], begun: Begun): Promise<void> {
    if (this.#readsOnly) return;
    const named = new Set(keys);
    if (named.size === 0 || named.size > NAMED_KEYS) this.#mustFollow = true;
    for (const each of [...named].slice(0, NAMED_KEYS)) {
      const [wanted, present] = [await begun.target.key(each), await begun.shadow.server.key(each)];
      if (!isEqual(wanted, present, linesOf(begun))) await this.#setAllRight(begun, new Map([[each, wanted ?? null]]));
    }
  }

  async #setAllRight(begun: Begun, wanted: ReadonlyMap<string, AccessKey | null>): Promise<void> {
    if (this.#readsOnly) return;
    for (const [key, record] of wanted) {
      await setKey(begun.shadow, key, record);
      this.#markRight(key);
    }
  }

  #markRight(key: string): void {
    this.#setRightAt = machineTime();
    this.#setRight.delete(key);
    this.#setRight.set(key, this.#setRightAt);
    for (const oldest of this.#setRight.keys()) {
      if (this.#setRight.size <= MOST_SET_RIGHT) break;
      this.#setRight.delete(oldest);
    }
  }

  async #followKeys(begun: Begun): Promise<void> {
    const differing = await differingKeys(begun);
    if (this.#readsOnly) this.#parted = new Set(differing.keys());
    else await this.#setAllRight(begun, differing);
  }

  /** Nothing is ever changed at a second server without leave. */
  get #readsOnly(): boolean {
    const { shadow } = this.#options;
    return !('line' in shadow) && !shadow.writes;
  }
}

/** The version in the answer of a status; null for none that is to be shown. */
function versionIn(body: Buffer | undefined): string | null {
  const data = body === undefined ? undefined : dataIn(body);
  const version = isJsonObject(data) ? data.version : null;
  return typeof version === 'string' && /^[\w.+-]{1,40}$/.test(version) ? version : null;
}

const MOST_SET_RIGHT = 100_000;

/** The subjects that show what a write of one changes, keys aside. */
const SHOWN_WITH: Readonly<Partial<Record<Subject, readonly Subject[]>>> = {
  configuration: ['configuration', 'rules', 'dns'],
  rules: ['rules', 'configuration'],
  dns: ['dns', 'configuration'],
};

/** Headers of a request that mean something to the API besides its credential. */
const PASSED_ON = /^(?:accept|content-type|origin|access-control-request-(?:method|headers))$/;

function linesOf({ target, shadow }: Pick<Begun, 'target' | 'shadow'>): readonly Revision[] {
  return [target.found.revision, shadow.server.found.revision];
}

/** Tells whether another write of the same was under way; `perhaps` where one was of keys that nobody can name before its answer. */
function contestOf(passed: Passed): 'yes' | 'perhaps' | 'no' {
  const { keys, subjects } = passed.beside;
  if (subjects.includes('configuration') || keysWritten(passed).some((key) => keys.includes(key))) return 'yes';
  return subjects.includes('keys') ? 'perhaps' : 'no';
}

/** Why the shadow is not asked at all, or null. */
function whyNotAsked(passed: Passed, { target, shadow }: Begun, matched: MatchedRequest | null): string | null {
  const { apiRoot } = target.found.target;
  if (!isBelow(passed.path, apiRoot)) return 'no request of the API';
  if (passed.status === 401 || passed.status === 403 || passed.status === 429) return 'the target refused it';
  if (passed.status === 304) return 'the client had the answer already';
  if (passed.status >= 500) return 'the target failed';
  if (matched === null)
    return passed.method === 'OPTIONS' || passed.method === 'GET' ? null : 'no operation of the API';
  return shadow.withholds(matched.operation);
}

function answerOf(passed: Passed): Answer {
  const { status, responseHeaders: headers, responseBody } = passed;
  return { status, headers, body: decompressed(passed) ?? responseBody, firstByteMilliseconds: 0 };
}

/** Why the shadow's answer is not held against the target's. */
interface NotCompared {
  readonly notCompared: string;
}

const KEY_BY_KEY = 'its keys were made one by one, so that they are the same';
const NO_SUCH_LAYOUT = 'a configuration of another layout, or with other inbounds, than the second server has';

/** The body for the shadow, where a create that the target named a key for names that key. */
async function bodyFor(
  passed: Passed,
  matched: MatchedRequest | null,
  shadow: ShadowSide,
): Promise<Buffer | NotCompared> {
  const operation = matched?.operation;
  if (operation?.name === 'putConfig')
    return (await shadow.configuration(passed.requestBody)) ?? { notCompared: NO_SUCH_LAYOUT };
  if (operation === undefined || !makesKeys(operation) || !isSuccess(passed.status)) return passed.requestBody;
  const [made] = keysNamed(dataIn(answerOf(passed).body));
  const body = jsonIn(passed.requestBody);
  if (operation.name === 'bulkCreateUsers' || made === undefined || !isJsonObject(body)) return passed.requestBody;
  if (typeof body.access_key === 'string') return passed.requestBody;
  return Buffer.from(writeJson({ ...body, access_key: made }));
}

/** Makes the keys that the target named one by one; resolves to the first answer that refuses one, null where none does. */
async function createEach(passed: Passed, shadow: ShadowSide): Promise<Answer | null> {
  const body = jsonIn(passed.requestBody);
  const limit = isJsonObject(body) && body.limit_bytes !== undefined ? { limit_bytes: body.limit_bytes } : {};
  for (const accessKey of keysNamed(dataIn(answerOf(passed).body))) {
    const answer = await shadow.server.send('POST', '/users', { access_key: accessKey, ...limit });
    if (!isSuccess(answer.status)) return answer;
  }
  return null;
}

/** Has the keys that the shadow named itself be those of the target; resolves to its answer with these, where they are of the same form. */
async function withTheirKeys(answer: Answer, passed: Passed, shadow: ShadowSide): Promise<Answer> {
  const [own, theirs] = [answer.body, answerOf(passed).body].map((body) => keysNamed(dataIn(body)));
  if (isSuccess(answer.status))
    for (const key of own ?? []) await shadow.server.send('DELETE', `/users/${encodeURIComponent(key)}`);
  const refused = await createEach(passed, shadow);
  if (refused !== null) return refused;
  const value = jsonIn(answer.body);
  if (value === undefined || own === undefined || theirs === undefined) return answer;
  const names = new Map(own.map((key, index) => [key, theirs[index] ?? key]));
  const named = mapTexts(value, (text) => {
    const name = names.get(text);
    return name !== undefined && formOf(name) === formOf(text) ? name : text;
  });
  return { ...answer, body: Buffer.from(writeJson(named)) };
}

/** Returns the key with `x` for each letter and digit. */
function formOf(key: string): string {
  return key.replaceAll(/[a-z0-9]/gi, 'x');
}

async function isAlive(shadow: ShadowSide): Promise<boolean> {
  const answer = await shadow.server.send('GET', '/server/status').catch(() => null);
  return answer !== null && isSuccess(answer.status);
}

/** The configuration of a target as text; made of its keys where its line shows none. */
async function configurationOf(target: AskedServer): Promise<string> {
  const configuration = await target.configuration();
  return writeJson(withKeys(configuration ?? { mode: 'server' }, await target.keys()));
}

/** Some servers store keys where their configuration does not show them; names stand there alone on some lines. */
function withKeys(configuration: JsonObject, keys: ReadonlyMap<string, AccessKey>): JsonObject {
  if (configuration.inbounds !== undefined) return configuration;
  const list = Array.isArray(configuration.access_keys) ? configuration.access_keys : [];
  const present = new Map(list.flatMap((element: JsonValue) => keyOf(element).map((key) => [key.accessKey, element])));
  const elements = [...keys.values()].map((key) => present.get(key.accessKey) ?? elementOf(key));
  return { ...configuration, access_keys: elements };
}

/** Keys that are not the same at both, with what the target has; null for one that it does not have. */
async function differingKeys(both: Pick<Begun, 'target' | 'shadow'>): Promise<ReadonlyMap<string, AccessKey | null>> {
  const ofTarget = await both.target.keys();
  const ofShadow = await both.shadow.server.keys(ofTarget);
  return new Map(differencesOf(ofTarget, ofShadow, linesOf(both)));
}

function differencesOf(
  ofTarget: ReadonlyMap<string, AccessKey>,
  ofShadow: ReadonlyMap<string, AccessKey>,
  lines: readonly Revision[],
): readonly (readonly [string, AccessKey | null])[] {
  const differing: (readonly [string, AccessKey | null])[] = [];
  for (const [key, record] of ofTarget) if (!isEqual(record, ofShadow.get(key), lines)) differing.push([key, record]);
  for (const key of ofShadow.keys()) if (!ofTarget.has(key)) differing.push([key, null]);
  return differing;
}

function isEqual(one: AccessKey | undefined, other: AccessKey | undefined, lines: readonly Revision[]): boolean {
  return one === undefined || other === undefined ? one === other : saysSame(one, other, lines);
}

/** Gives the shadow a key as the target has it; null to take it away. */
async function setKey({ server }: ShadowSide, key: string, wanted: AccessKey | null): Promise<void> {
  const path = `/users/${encodeURIComponent(key)}`;
  const isThere = (await server.key(key)) !== undefined;
  if (wanted === null) {
    if (isThere) await server.send('DELETE', path);
    return;
  }
  const { name, limitBytes } = wanted;
  const record: JsonObject = { name, limit_bytes: limitBytes };
  if (isThere) await server.send('PUT', path, record);
  else await server.send('POST', '/users', { access_key: key, ...record });
}

function keyWords(index: number, wanted: AccessKey | null): string {
  return wanted === null
    ? `key ${index + 1}: it is not at the target`
    : `key ${index + 1}: missing, or of another name or limit`;
}

function listDifference(wanted: AccessKey | null, present: AccessKey | undefined): ShadowDifference {
  const place = { step: 1, operation: 'listUsers' satisfies OperationName, kind: 'new' as const, because: null };
  if (wanted === null || present === undefined) {
    const [expected, actual] = [wanted !== null, present !== undefined];
    return { ...place, kind: actual ? 'new' : 'gone', where: 'body /data/*', expected, actual };
  }
  if (wanted.limitBytes !== present.limitBytes)
    return { ...place, where: 'body /data/*/limit_bytes', expected: wanted.limitBytes, actual: present.limitBytes };
  return { ...place, where: 'body /data/*/name', expected: wanted.name, actual: present.name };
}

function unpointed(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Without what a server put into its words. */
function causeOf(error: unknown): string {
  return error instanceof NoAnswer ? error.kind : messageOf(error).slice(0, 80);
}
