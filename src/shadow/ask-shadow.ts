import { type Answer, type Call, isSuccess, NoAnswer } from '../client/call.js';
import { keysNamed, type MatchedRequest, makesKeys } from '../replay/format/effects.js';
import { mapTexts } from '../replay/format/map-texts.js';
import { dataIn, isJsonObject, jsonIn } from '../wire/json/json.js';
import { writeJson } from '../wire/json/write-json.js';
import { answerOf, type Pair } from './pair.js';
import type { ShadowSide } from './sides.js';
import type { Passed } from './traffic.js';

/** Why there is no answer of the shadow to hold against the target's. */
export type NotCompared =
  | { readonly kind: 'left out'; readonly why: string }
  /** The shadow was not asked. */
  | { readonly kind: 'withheld'; readonly why: string };

const KEY_BY_KEY: NotCompared = {
  kind: 'left out',
  why: 'its keys were made one by one, so that they are the same',
};
const NO_SUCH_LAYOUT: NotCompared = {
  kind: 'withheld',
  why: 'a configuration of another layout, or with other inbounds, than the second server has',
};

/** Headers of a request that mean something to the API besides its credential. */
const PASSED_ON = /^(?:accept|content-type|origin|access-control-request-(?:method|headers))$/;

export function passedHeaders({ requestHeaders }: Passed, authorization: string | undefined): Map<string, string> {
  const headers = new Map([...requestHeaders].filter(([name]) => PASSED_ON.test(name)));
  if (authorization !== undefined) headers.set('authorization', authorization);
  return headers;
}

/** Asks the shadow what a client has asked the target; null where it ends the answer half-way. Rejects with `NoAnswer` for none. */
export async function askShadow(
  passed: Passed,
  { shadow, target }: Pair,
  matched: MatchedRequest | null,
  take?: Call['take'],
): Promise<Answer | NotCompared | null> {
  const { found } = shadow.server;
  const name = matched?.operation.name;
  if (name === 'login') return shadow.logIn(passed);
  const isBulk = name === 'bulkCreateUsers' && isSuccess(passed.status);
  if (isBulk && !shadow.isOurs) return (await createEach(passed, shadow)) ?? KEY_BY_KEY;
  const authorization = await shadow.authorization(passed, target.found.revision);
  const body = await bodyFor(passed, matched, shadow);
  if ('why' in body) return body;
  const call = {
    method: passed.method,
    path: found.target.apiRoot + passed.path.slice(target.found.target.apiRoot.length),
    headers: passedHeaders(passed, authorization),
    body: body.length === 0 ? undefined : body,
    ...(take === undefined ? {} : { take }),
  };
  try {
    const answer = await found.caller.send(call);
    return isBulk ? await withTheirKeys(answer, passed, shadow) : answer;
  } catch (error) {
    // Garbage, or an end half-way, is an answer of its kind; silence and no connection are none.
    if (error instanceof NoAnswer && error.kind === 'broken' && (await isAlive(shadow))) return null;
    throw error;
  }
}

/** The body for the shadow, where a create that the target named a key for names that key. */
async function bodyFor(
  passed: Passed,
  matched: MatchedRequest | null,
  shadow: ShadowSide,
): Promise<Buffer | NotCompared> {
  const operation = matched?.operation;
  if (operation?.name === 'putConfig') return (await shadow.configuration(passed.requestBody)) ?? NO_SUCH_LAYOUT;
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
