import { type Answer, NoAnswer } from '../client/call.js';
import { createCaller } from '../client/caller.js';
import type { Lines } from '../client/find-line.js';
import { createControl, type TargetCredentials } from '../client/signed-in-caller.js';
import type { KeyReader } from '../core/keys/types.js';
import type { KeySnapshot } from '../core/model.js';
import { showsNamedToken } from '../core/named-tokens.js';
import { sha256Hash } from '../core/password.js';
import type { ClockPort, RandomPort } from '../core/ports.js';
import { stageWithoutSocket } from '../embedded/stage.js';
import { givenStateOf } from '../replay/format/given-state.js';
import type { Scenario } from '../replay/format/scenario.js';
import { dataIn, isJsonObject, type JsonObject, jsonIn } from '../wire/json/json.js';
import { writeJson } from '../wire/json/write-json.js';
import type { Operation } from '../wire/operations.js';
import type { Revision } from '../wire/traits/revision.js';
import { AskedServer, type FoundServer, findServer, STANDING, STANDING_INBOUND } from './asked-server.js';
import type { Passed } from './traffic.js';

/** The server that is tried beside the target. */
export interface ShadowSide {
  readonly server: AskedServer;
  /** Shown in the report. */
  readonly place: string;
  /** Tells whether it lives for this alone, so that keys may be made there and removed again. */
  readonly isOurs: boolean;
  /** Why requests of an operation are not sent to it; null where they are. */
  withholds(operation: Operation): string | null;
  /** The `Authorization` for a request that the target accepted; undefined to send none. */
  authorization(passed: Passed, line: Revision): Promise<string | undefined>;
  /** Signs in as a client did at the target. Only where `withholds` lets logins by. */
  logIn(passed: Passed): Promise<Answer>;
  /** A whole configuration for it, made from one for the target; null where it cannot have one of that form. */
  configuration(body: Buffer): Promise<Buffer | null>;
  close(): Promise<void>;
}

/** The configuration that an embedded core begins with, as JSON text without comments. */
export type Beginning = string;

/** An embedded core of a line, which has the target's configuration and is signed in to like the target. */
export async function openCore(
  line: string,
  beginning: Beginning,
  { lines, clock, random }: { readonly lines: Lines; readonly clock: ClockPort; readonly random: RandomPort },
): Promise<ShadowSide> {
  const resolved = lines.resolve(line);
  if (!resolved.ok) throw new Error(`--to: ${resolved.problem}`);
  const bare: Scenario = {
    title: '',
    revision: line,
    source: 'facts',
    given: { configText: [beginning] },
    exchanges: [],
  };
  const { credentials } = givenStateOf(bare);
  // A password cannot be told from its hash: the core has one of its own, which nobody else sees.
  const operator = { username: credentials.username, password: random.bytes(16).toString('hex') };
  const listener = credentials.username === '' ? {} : { password_hash: sha256Hash(operator.password) };
  const scenario: Scenario = { ...bare, given: { ...bare.given, listener } };
  const staged = await stageWithoutSocket(scenario, line, { clock, ownApi: false });
  const { revision, version } = resolved;
  const sessions = new Map<string, string>();
  const { caller, target } = staged;

  async function begin(token: string | null): Promise<Answer> {
    const body = Buffer.from(writeJson(operator));
    const headers = new Map([['content-type', 'application/json']]);
    const answer = await caller.send({ method: 'POST', path: `${target.apiRoot}/login`, headers, body });
    const own = tokenIn(answer.body);
    if (token !== null && own !== null) {
      sessions.clear();
      sessions.set(token, own);
    }
    return answer;
  }

  async function ownAuthorization(): Promise<string | null> {
    const { token } = credentials;
    const byToken = token === null || token === '' ? null : revision.auth.encode({ kind: 'token', secret: token });
    const [session] = sessions.values();
    if (byToken !== null) return byToken;
    if (session !== undefined) return revision.auth.encode({ kind: 'session', secret: session });
    const own = revision.capabilities.login === undefined ? null : tokenIn((await begin(OWN_SESSION)).body);
    return own === null ? null : revision.auth.encode({ kind: 'session', secret: own });
  }

  return {
    server: new EmbeddedServer({ caller, target, revision, version }, ownAuthorization, staged.app.keyway.core.keys),
    place: 'an embedded core',
    isOurs: true,
    withholds: () => null,
    async authorization({ requestHeaders }, from) {
      const shown = requestHeaders.get('authorization');
      if (shown === undefined) return undefined;
      if (showsNamedToken(shown)) return (await ownAuthorization()) ?? shown;
      const secrets = from.auth.decode(shown);
      if (secrets.some(({ kind, secret }) => kind === 'token' && secret === credentials.token)) return shown;
      const session = secrets.find(({ kind }) => kind === 'session')?.secret;
      if (session === undefined || credentials.username === '') return shown;
      if (!sessions.has(session)) await begin(session);
      const own = sessions.get(session);
      return own === undefined ? shown : shown.replace(session, () => own);
    },
    logIn: ({ responseBody }) => begin(tokenIn(responseBody)),
    configuration: async (body) => body,
    close: () => staged.close(),
  };
}

/** An embedded core. Its keys are taken from it: for the list of an answer it would keep twice the memory of its text from then on. */
class EmbeddedServer extends AskedServer {
  readonly #keys: KeyReader;

  constructor(found: FoundServer, authorization: () => Promise<string | null>, keys: KeyReader) {
    super(found, authorization);
    this.#keys = keys;
  }

  override async keys(): Promise<ReadonlyMap<string, KeySnapshot>> {
    const keys = new Map<string, KeySnapshot>();
    for (const key of this.#keys.entries()) keys.set(key.accessKey, key);
    return keys;
  }
}

/** Stands for the target's session where the core signs in for itself. */
const OWN_SESSION = '';

export interface SecondServer {
  readonly origin: string;
  readonly webpath: string;
  /** The line that it is said to speak; null to go by its version. */
  readonly revision: Revision | null;
  readonly credentials: TargetCredentials;
  readonly ca: Buffer | null;
  readonly writes: boolean;
  readonly destructive: boolean;
  /** Has the clients' own credentials sent there, instead of the shadow's. */
  readonly forwardsCredentials: boolean;
  readonly timeoutMilliseconds: number;
}

/** A second server, which every call reaches with the shadow's own credential. Rejects with an `Error` for people. */
export async function openServer(second: SecondServer, lines: Lines): Promise<ShadowSide> {
  const { origin, credentials, ca, timeoutMilliseconds } = second;
  const trusted = ca === null ? {} : { ca };
  const caller = createCaller({ origin, timeoutMilliseconds, connections: 2, ...trusted });
  const control = (apiRoot: string, revision: Revision) =>
    createControl(caller, { target: { origin, apiRoot, base: '' }, revision, credentials });
  const session = async (apiRoot: string) => {
    const withLogin = lines.all.find(({ capabilities }) => capabilities.login !== undefined);
    if (withLogin === undefined || credentials.operator === null) return null;
    return control(apiRoot, withLogin).session();
  };
  try {
    const found = await findServer({ ...second, caller, lines, secret: credentials.token, session });
    const own = control(found.target.apiRoot, found.revision);
    // How a login was refused names the operator, and changes from one to the next: it is said when the shadow begins, and in no report.
    const authorization = () =>
      own.authorization().catch((error: unknown) => {
        throw error instanceof NoAnswer ? error : new Error('it refuses its own credential');
      });
    const server = new AskedServer(found, authorization);
    return {
      server,
      place: origin,
      isOurs: false,
      withholds: (operation) => whyWithheld(operation, second),
      async authorization({ requestHeaders }) {
        const shown = requestHeaders.get('authorization');
        return shown === undefined || second.forwardsCredentials ? shown : ((await authorization()) ?? undefined);
      },
      logIn: () => Promise.reject(new Error('logins are not sent to a second server')),
      configuration: async (body) => standingAs(body, await server.send('GET', '/server/config')),
      close: async () => caller.close(),
    };
  } catch (error) {
    caller.close();
    throw error;
  }
}

function whyWithheld(
  { subject, effect }: Operation,
  { writes, destructive }: Pick<SecondServer, 'writes' | 'destructive'>,
): string | null {
  if (subject === 'session') return 'logins are not sent to a second server';
  if (effect.kind === 'reads') return null;
  if (subject === 'keys') return writes ? null : 'a write, without --writes';
  return destructive ? null : 'a write besides keys, without --destructive';
}

/** Returns a configuration with which the second server stays where and as whom it is. */
function standingAs(body: Buffer, answer: Answer): Buffer | null {
  const [wanted, own] = [jsonIn(body), dataIn(answer.body)];
  if (!isJsonObject(wanted) || !isJsonObject(own)) return null;
  const together = withMembersOf(own, wanted, STANDING);
  const [inbounds, theirs] = [inboundsIn(wanted), inboundsIn(own)];
  if (inbounds.length !== theirs.length) return null;
  const standing: JsonObject[] = [];
  for (const [index, inbound] of inbounds.entries()) {
    const stands = theirs[index];
    if (stands === undefined || stands.protocol !== inbound.protocol) return null;
    standing.push(withMembersOf(stands, inbound, STANDING_INBOUND));
  }
  return Buffer.from(writeJson(standing.length === 0 ? together : { ...together, inbounds: standing }));
}

function withMembersOf(own: JsonObject, wanted: JsonObject, names: readonly string[]): JsonObject {
  const others = Object.entries(wanted).filter(([name]) => !names.includes(name));
  return Object.fromEntries([...others, ...Object.entries(own).filter(([name]) => names.includes(name))]);
}

function inboundsIn({ inbounds }: JsonObject): readonly JsonObject[] {
  return Array.isArray(inbounds) ? inbounds.filter(isJsonObject) : [];
}

function tokenIn(body: Buffer): string | null {
  const data = dataIn(body);
  return isJsonObject(data) && typeof data.token === 'string' ? data.token : null;
}
