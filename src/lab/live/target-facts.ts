import type { Caller, Target } from '../../client/call.js';
import { type Control, type TargetCredentials, unreadWords } from '../../client/signed-in-caller.js';
import type { AccessKey } from '../../core/model.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/json/json.js';
import type { Revision } from '../../wire/traits/revision.js';
import { keyOf } from '../format/given-state.js';
import { configuredPart } from '../reads/keys.js';

/** Facts about a live server, read before anything is played. */
export interface TargetFacts {
  /** The server package version in its status; null if it reports none. */
  readonly version: string | null;
  /** True if it answers without a credential. */
  readonly isOpen: boolean;
  /** True if its static token is known and accepted. */
  readonly hasToken: boolean;
  /** True if its operator's name and password are known and accepted. */
  readonly hasOperator: boolean;
  /** True if the run has some way to be authorized. */
  readonly isLetIn: boolean;
  /** Its configuration file; `none` if it has none, null if it does not show it. */
  readonly config: JsonObject | 'none' | null;
  readonly dnsEnabled: boolean;
  /** The address for clients in its status; undefined if it has none. */
  readonly endpoint: JsonValue | undefined;
  /** Its keys, in the order of the list. */
  readonly keys: readonly AccessKey[];
  /** The parts of its share links; null if it had no key that a path can name. */
  readonly announced: Announcement | null;
}

/** The parts of a share link around the key. */
export interface Announcement {
  readonly scheme: string;
  /** `host:port`. */
  readonly address: string;
  /** With its `?`, as configured and without what DNS adds; empty if there is none. */
  readonly query: string;
}

interface Asked {
  readonly target: Target;
  readonly revision: Revision;
  readonly credentials: TargetCredentials;
}

/** Something answers, but there is no management API at the revision's root. */
export class NoApiThere extends Error {
  constructor({ apiRoot }: Target, status: number) {
    super(
      `GET ${apiRoot}/server/status answers ${status}, expected 200 or 401: is this the revision and the web path?`,
    );
    this.name = 'NoApiThere';
  }
}

/**
 * Asks a server about itself with reads, and a login if a name is given. Rejects with an `Error` for the user if it
 * cannot be used.
 */
export async function learnFacts(caller: Caller, control: Control, asked: Asked): Promise<TargetFacts> {
  const { target, revision, credentials } = asked;
  const anonymous = await statusWith(caller, target, null);
  if (anonymous !== 200 && anonymous !== 401) throw new NoApiThere(target, anonymous);
  const isOpen = anonymous === 200;
  const { token } = credentials;
  const hasToken = token !== null && (await statusWith(caller, target, `Bearer ${token}`)) === 200 && !isOpen;
  const hasOperator = credentials.operator !== null && revision.capabilities.login !== undefined;
  if (hasOperator) await control.login();
  const isLetIn = isOpen || hasToken || hasOperator;
  const status = isLetIn ? dataObject((await control.send('GET', '/server/status')).data) : {};
  const config = isLetIn ? await readConfig(control, revision) : null;
  const { keys } = isLetIn ? await readKeys(control) : { keys: [] };
  const dnsEnabled = isLetIn && (await readDnsEnabled(control, revision, config));
  const named = keys.find(({ accessKey }) => accessKey !== '');
  return {
    version: typeof status.version === 'string' ? status.version : null,
    isOpen,
    hasToken,
    hasOperator,
    isLetIn,
    config,
    dnsEnabled,
    endpoint: status.endpoint,
    keys,
    announced: named === undefined ? null : await learnAnnouncement(control, named.accessKey, revision, dnsEnabled),
  };
}

async function statusWith(caller: Caller, target: Target, authorization: string | null): Promise<number> {
  const headers = new Map(authorization === null ? [] : [['authorization', authorization]]);
  const answer = await caller.send({
    method: 'GET',
    path: `${target.apiRoot}/server/status`,
    headers,
    body: undefined,
  });
  const wait = answer.headers.get('retry-after');
  if (answer.status === 401 && wait !== undefined)
    throw new Error(`the server slows the guessing of tokens and does not look at this one: try again in ${wait} s`);
  return answer.status;
}

async function readConfig(control: Control, { capabilities }: Revision): Promise<TargetFacts['config']> {
  if (capabilities.config === undefined) return null;
  const { status, data, error } = await control.send('GET', '/server/config');
  if (status === 200 && isJsonObject(data)) return data;
  return error.startsWith('No config path registered') ? 'none' : null;
}

async function readDnsEnabled(
  control: Control,
  { capabilities }: Revision,
  config: TargetFacts['config'],
): Promise<boolean> {
  if (capabilities.dns !== undefined)
    return dataObject((await control.send('GET', '/dns/config')).data).enabled === true;
  return config !== null && config !== 'none' && isJsonObject(config.dns) && config.dns.enabled === true;
}

/** Returns a server's keys as it lists them. Rejects with an `Error` for the user if it does not list them. */
export async function listKeys(control: Control): Promise<readonly AccessKey[]> {
  const { keys, why } = await readKeys(control);
  if (why !== null) throw new Error(`the keys could not be read: ${why}`);
  return keys;
}

/** Lists the keys, or returns none with the reason why that failed. */
export async function readKeys(
  control: Control,
): Promise<{ readonly keys: readonly AccessKey[]; readonly why: string | null }> {
  const answer = await control.send('GET', '/users');
  if (answer.status !== 200 || !Array.isArray(answer.data)) return { keys: [], why: unreadWords('/users', answer) };
  return { keys: answer.data.flatMap(keyOf), why: null };
}

/** Parses a key's share link; null for another text. */
export async function learnAnnouncement(
  control: Control,
  accessKey: string,
  revision: Revision,
  dnsEnabled: boolean,
): Promise<Announcement | null> {
  const path = `/subscribe/${encodeURIComponent(accessKey)}`;
  const config = dataObject((await control.send('GET', path)).data);
  const link = (await control.send('GET', path, undefined, LINK)).data;
  const address = config.server;
  if (typeof address !== 'string' || typeof link !== 'string') return null;
  const end = link.indexOf('://');
  const tail = `@${address}`;
  const at = link.indexOf(tail, end < 0 ? 0 : end + 3);
  if (at < 0) return null;
  const query = link.slice(at + tail.length);
  return {
    scheme: link.slice(0, Math.max(end, 0)),
    address,
    query: configuredPart(query, revision, dnsEnabled) ?? query,
  };
}

const LINK = { accept: 'text/plain' };

function dataObject(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
