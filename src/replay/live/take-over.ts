import { setTimeout as sleep } from 'node:timers/promises';
import type { Control } from '../../client/signed-in-caller.js';
import { DEFAULT_DNS } from '../../core/model.js';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../wire/json/json.js';
import { encodeJson } from '../../wire/json/write-json.js';
import type { Subject } from '../../wire/operations/operation.js';
import type { Revision } from '../../wire/traits/revision.js';
import { matchRequest } from '../format/effects.js';
import { keyOf, keysOfFile } from '../format/given-state.js';
import { sameJson } from '../format/json-difference.js';
import type { Exchange } from '../format/scenario.js';

/** A server goes on by what its configuration said at its start, so that a scenario about another one cannot be played. */
export class CountsAtStart extends Error {
  constructor(what: string) {
    super(`needs a server that was started with its configuration: ${what} counts from the next start`);
    this.name = 'CountsAtStart';
  }
}

/**
 * Has a server go by the rules and DNS settings of a configuration that stands there, as far as the exchanges ask for them:
 * servers that read these only at their start take them through the API. Resolves to whether anything was told through it.
 * Rejects with `CountsAtStart` where a server does not take them.
 */
export async function takeOver(
  control: Control,
  revision: Revision,
  wanted: JsonObject,
  exchanges: readonly Exchange[],
): Promise<boolean> {
  const asks = (subject: Subject) => exchanges.some((each) => subjectOf(each) === subject);
  const links = exchanges.some(({ operation }) => operation === 'subscribe');
  const { rules, dns } = revision.capabilities;
  let isTold = false;
  if (rules !== undefined && asks('rules')) isTold = await takeOverRules(control, wanted);
  if (dns !== undefined && (asks('dns') || links))
    isTold = (await takeOverDns(control, dns.form.encode(DEFAULT_DNS), wanted)) || isTold;
  return isTold;
}

function subjectOf({ request }: Exchange): Subject | undefined {
  return matchRequest(request)?.operation.subject;
}

async function takeOverRules(control: Control, { outbound }: JsonObject): Promise<boolean> {
  const { data } = await control.send('GET', '/router/rules');
  const isConfigured = isJsonObject(outbound);
  const rules = isConfigured ? (outbound.rules ?? []) : (data ?? []);
  const { status } = await control.send('PUT', '/router/rules', rules);
  if (status < 400 !== isConfigured) throw new CountsAtStart('outbound routing');
  return isConfigured;
}

async function takeOverDns(
  control: Control,
  defaults: Parameters<typeof encodeJson>[0],
  wanted: JsonObject,
): Promise<boolean> {
  const members = parseJson(Buffer.from(encodeJson(defaults)));
  if (!isJsonObject(members)) return false;
  const own: JsonObject = isJsonObject(wanted.dns) ? wanted.dns : {};
  const whole = Object.fromEntries(Object.entries(members).map(([name, value]) => [name, own[name] ?? value]));
  const present = async (): Promise<JsonValue | undefined> => (await control.send('GET', '/dns/config')).data;
  if (sameJson(await present(), whole)) return false;
  await control.send('POST', '/dns/config', whole);
  if (!sameJson(await present(), whole)) throw new CountsAtStart('DNS');
  return true;
}

/** Servers look at their file every 5 s; a key was live after 6.7 s at the latest. Milliseconds. */
const LONGEST_RELOAD = 10_000;
const LOOK_EVERY = 50;

/** The data of a read below the API root; undefined where there is none. */
type ReadData = (path: string) => Promise<JsonValue | undefined>;

/** Resolves when a server lists the keys that stand in its file, or when it should have long ago. */
export async function untilReloaded(read: ReadData): Promise<void> {
  const end = performance.now() + LONGEST_RELOAD;
  while (!(await listsItsFile(read)) && performance.now() < end) await sleep(LOOK_EVERY);
}

async function listsItsFile(read: ReadData): Promise<boolean> {
  const config = await read('/server/config');
  const list = await read('/users');
  if (!isJsonObject(config) || !Array.isArray(list)) return true;
  const [inFile, listed] = [keysOfFile(config), list.flatMap(keyOf)].map(
    (keys) => new Set(keys.map(({ accessKey }) => accessKey)),
  );
  return inFile?.size === listed?.size && [...(inFile ?? [])].every((key) => listed?.has(key));
}
