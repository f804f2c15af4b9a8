import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { AuditEvent } from '../core/audit.js';
import { continueRules } from '../core/continued-rules.js';
import { resolverSettings } from '../core/dns-settings.js';
import { DomainError, unlessInMemory } from '../core/errors.js';
import { createdBy, seesOwnAlone } from '../core/keys/key-makers.js';
import { recordOf } from '../core/keys/key-record.js';
import { andThen, type MaybeAsync } from '../core/maybe-async.js';
import type { KeySnapshot, OvernetSettings } from '../core/model.js';
import type { Principal } from '../core/principal.js';
import { endpointOf, sharedLinks, waysOf } from '../subscription/offer.js';
import { qrDocument } from '../subscription/qr.js';
import { SERVICES } from '../wire/dns-values.js';
import { successEnvelope, successEnvelopeOf, successEnvelopeOfPieces } from '../wire/envelope.js';
import { type Encodable, encodeJson } from '../wire/json/write-json.js';
import type { CreateUser } from '../wire/operations/users.js';
import type { OperationName } from '../wire/operations.js';
import type { WireDnsSettings } from '../wire/traits/dns-engine-form.js';
import type { WireDnsChange } from '../wire/traits/dns-form.js';
import type { WireOvernet } from '../wire/traits/overnet-form.js';
import { traitsOf } from '../wire/traits/revision.js';
import type { WireOutboundRule } from '../wire/traits/rule-form.js';
import type { AppOptions } from './app-options.js';
import type { AuditBody } from './audit-body.js';
import { dnsExplanation, dnsLogEntry, dnsStats, LIST_PRESETS, refuseUnserved } from './dns-answers.js';
import { acceptedCoding, type ListBody } from './list-body.js';
import type { Login } from './login.js';
import type { Mount } from './mount.js';
import type { StrangerRate } from './stranger-rate.js';

export interface HandlerContext
  extends Pick<AppOptions, 'core' | 'makers' | 'notes' | 'actors' | 'announced' | 'offerFacts' | 'callerOf' | 'log'> {
  readonly list: ListBody;
  readonly audit: AuditBody;
  readonly login: Login;
  readonly rate: StrangerRate;
}

/** One request to an operation, after the access check, with a body that fits its schema. */
export interface Call {
  readonly context: HandlerContext;
  readonly mount: Mount;
  readonly request: FastifyRequest;
  /** The decoded access key of the path; empty if the path has none. */
  readonly key: string;
  readonly body: unknown;
}

/** A success; `payload` is the whole envelope. */
export interface OperationAnswer {
  /** Default 200; a 304 has no payload. */
  readonly status?: 200 | 304;
  readonly payload: string | Buffer | readonly Buffer[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Called once the payload has been sent, or never will be. */
  readonly settled?: () => void;
}

export type Handler = (call: Call) => MaybeAsync<OperationAnswer>;

const answer = (data: Encodable): OperationAnswer => ({ payload: successEnvelope(data) });

/** Types the body for the handler; it has been validated against the schema of the operations table. */
const withBody =
  <Body>(handler: (call: Call, body: Body) => Promise<OperationAnswer>): Handler =>
  (call) =>
    handler(call, call.body as Body);

/** Resolves to the key that the path names. Rejects with `userNotFound`, also for a key that the caller may not see. */
async function askedKey({ context: { core, makers }, key, request }: Call): Promise<KeySnapshot> {
  const found = await core.key(key);
  if (found === undefined || !makers.sees(request.principal, key)) throw new DomainError('userNotFound');
  return found;
}

/** Keeps the answer out of shared caches, and makes private ones revalidate it (RFC 9111, 5.2.2). */
const NOT_SHARED = 'private, no-cache';

/** Returns the list of a caller who sees only the keys that were made with his token. */
function ownList({ context: { core, makers }, mount: { revision } }: Call, caller: Principal): string {
  const { snapshot, online } = revision;
  const shown = [...makers.seen(core.keys, caller)].map((key) => snapshot.encode(key, online.isOnline(key.counters)));
  return successEnvelopeOf(`[${shown.join()}]`);
}

async function listUsers(call: Call): Promise<OperationAnswer> {
  const { core, list } = call.context;
  const { request } = call;
  const fresh = core.freshenKeys();
  if (fresh !== undefined) await fresh;
  if (seesOwnAlone(request.principal))
    return { payload: ownList(call, request.principal), headers: { 'cache-control': NOT_SHARED } };
  const coding = acceptedCoding(request.headers['accept-encoding']);
  const stale = core.staleKeys();
  const headers = (etag: string) => ({
    vary: 'accept-encoding',
    etag,
    'cache-control': NOT_SHARED,
    // RFC 9111, 5.1.
    ...(stale === null ? {} : { age: String(Math.floor(stale / 1000)) }),
  });
  const known = request.headers['if-none-match'];
  if (known !== undefined) {
    const present = await list.tag();
    if (hasTag(known, present)) return { status: 304, payload: '', headers: headers(present) };
  }
  if (coding === null) {
    const payload = list.read();
    const tag = list.tag();
    const settled = () => list.giveBack(payload);
    return { payload, headers: headers(typeof tag === 'string' ? tag : await tag), settled };
  }
  const [payload, tag] = await Promise.all([list.compressed(coding), list.tag()]);
  return { payload, headers: { ...headers(tag), 'content-encoding': coding } };
}

/**
 * Tells whether `If-None-Match` or `If-Match` names this entity tag; one that a proxy has made weak compares like a
 * strong one.
 */
function hasTag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '');
  return header.split(',').some((tag) => tag.trim() === '*' || opaque(tag) === opaque(etag));
}

const tagOf = (payload: string) => `"${createHash('sha256').update(payload).digest('base64url')}"`;

/** Returns a success with an entity tag of its data, which pages of other origins may read, too. */
function tagged(data: Encodable): OperationAnswer {
  const payload = successEnvelope(data);
  return { payload, headers: { etag: tagOf(payload), 'access-control-expose-headers': 'etag' } };
}

const hasCondition = ({ request }: Call) => request.headers['if-match'] !== undefined;

/** Throws if `If-Match` names other settings than the present ones (RFC 9110, 13.1.1). */
function expectMatch({ request }: Call, present: Encodable): void {
  if (!hasTag(request.headers['if-match'], tagOf(successEnvelope(present))))
    throw new DomainError('preconditionFailed');
}

async function subscribe({ context, mount, key, request }: Call): Promise<OperationAnswer> {
  const { core } = context;
  const found = await core.subscriber(key);
  if (found === undefined) throw new DomainError('userNotFound');
  const isLink = (request.headers.accept ?? '').includes('text/plain');
  const wanted = { accessKey: found.accessKey, isLink, transport: queryOf(request).get('transport') };
  const {
    subscribe: { encode },
    shareQuery,
  } = mount.revision;
  if (encode.by === 'ways') return { payload: encode.envelope(wanted, waysOf(await context.offerFacts())) };
  // Looking the key up may also bring a new address that the upstream announces.
  const announced = context.announced();
  const query = shareQuery.query(announced.shareQuery, core.hasOwnDns());
  return { payload: encode.envelope(wanted, { announced, query }) };
}

function queryOf({ url }: FastifyRequest): URLSearchParams {
  const at = url.indexOf('?');
  return new URLSearchParams(at < 0 ? '' : url.slice(at + 1));
}

function getStatus({ context: { core, offerFacts }, mount: { revision, version } }: Call): MaybeAsync<OperationAnswer> {
  const { status: form } = revision;
  return andThen(core.status(), (counts) => {
    if (!form.tellsServer) return { payload: successEnvelopeOf(form.encode(version, counts, null)) };
    return andThen(offerFacts(), (facts) => {
      const { sums = { ...core.keys.sums(), online: core.keys.counts.connected } } = counts;
      const server = { ...sums, endpoint: endpointOf(facts) };
      return { payload: successEnvelopeOf(form.encode(version, counts, server)) };
    });
  });
}

/** Bytes of a text in a code, as servers take them. */
const MOST_IN_CODE = 2048;
const LOG_DEFAULT = '200';
const LOG_MOST = 2000;

function overnetAnswer({ revision }: Mount, overnet: OvernetSettings): Encodable {
  // Keyway stores these settings without acting on them.
  const config = traitsOf(revision, 'overnet').form.encode(overnet);
  return { config, serving: false, gateway_up: null, exit_listening: null };
}

type Limit = Pick<CreateUser, 'limit_bytes'>;
type Meta = Omit<CreateUser, 'access_key'>;

/**
 * Bytes that an anonymous entry counts for. This allows about 16 a second from one network, since each may cost the
 * upstream a write.
 */
const AUDIT_COST = 32 * 1024;

const RULES_LOST =
  'rules with members that the caller does not know (protocol, send_from) were replaced by others, which do not have them';

/** The handler of each operation, in the hub's terms. */
export const HANDLERS: Readonly<Record<OperationName, Handler>> = {
  getStatus,
  getConfig: async ({ context: { core } }) => ({ payload: successEnvelopeOfPieces(await core.readConfig()) }),
  putConfig: withBody<Buffer>(async ({ context: { core } }, body) => {
    await core.replaceConfig(body);
    return answer(true);
  }),
  listUsers,
  createUser: withBody<CreateUser>(async ({ context: { core, makers, actors }, request: { principal } }, body) => {
    const { access_key: accessKey = null, name = null, limit_bytes: limitBytes = null } = body;
    if (accessKey !== null) {
      const { op } = await createdBy(core, makers, principal, recordOf(accessKey, { name, limitBytes }));
      if (op === 'update') {
        await core.updateUser({ accessKey });
        return answer(accessKey);
      }
    }
    const create = () => core.createUser({ accessKey, name, limitBytes });
    const made = await actors.during(principal, accessKey === null ? [] : [accessKey], create);
    actors.did(principal, [made]);
    await makers.made(principal, [made]);
    return answer(made);
  }),
  bulkCreateUsers: withBody<Limit & { count: bigint }>(
    async ({ context: { core, makers, actors }, request: { principal } }, body) => {
      const made = await core.bulkCreateUsers(body.count, body.limit_bytes ?? null);
      actors.did(principal, made);
      await makers.made(principal, made);
      return answer(made);
    },
  ),
  getUser: async (call) => {
    const key = await askedKey(call);
    const { snapshot, online } = call.mount.revision;
    return { payload: successEnvelopeOf(snapshot.encode(key, online.isOnline(key.counters))) };
  },
  updateUser: withBody<Meta>(async ({ context: { core }, key }, body) => {
    await core.updateUser({ accessKey: key, name: body.name ?? null, limitBytes: body.limit_bytes ?? null });
    return answer('User updated');
  }),
  async deleteUser({ context: { core, makers, notes }, key }) {
    await core.deleteUser(key);
    await makers.gone([key]);
    await notes.gone([key]);
    return answer('User removed');
  },
  setLimit: withBody<Limit>(async ({ context: { core }, key }, body) => {
    await core.setLimit(key, body.limit_bytes ?? null);
    return answer(true);
  }),
  async resetUser({ context: { core }, key }) {
    await core.resetUser(key);
    return answer(true);
  },
  subscribe,
  login: withBody<{ username: string; password?: string | null }>(
    async ({ context: { login, callerOf }, mount, request }, body) =>
      answer({ token: await login.begin(mount, callerOf(request.raw), body.username, body.password ?? '') }),
  ),
  listAudit: async ({ context: { audit, rate }, request }) => {
    const coding = acceptedCoding(request.headers['accept-encoding']);
    const told = request.hasCredential ? null : rate.begins(request.raw);
    const payload = await audit(coding);
    told?.(payload.length);
    const encoding = coding === null ? {} : { 'content-encoding': coding };
    return { payload, headers: { vary: 'accept-encoding', ...encoding } };
  },
  addAudit: withBody<AuditEvent>(async ({ context: { core, rate }, request }, { eventEn, eventRu, success }) => {
    if (!request.hasCredential) rate.sends(request.raw, AUDIT_COST);
    await core.audit.add({ eventEn, eventRu, success });
    return answer(true);
  }),
  clearAudit: async ({ context: { core } }) => {
    await core.audit.clear();
    return answer(null);
  },
  getRules: async ({ context: { core }, mount }) =>
    tagged((await core.rules()).map(traitsOf(mount.revision, 'rules').form.encode)),
  putRules: withBody<WireOutboundRule[]>(async (call, body) => {
    const { core, log } = call.context;
    const { mount } = call;
    const { decode, encode, unsaid } = traitsOf(mount.revision, 'rules').form;
    const written = body.map(decode);
    const present = unsaid.length === 0 && !hasCondition(call) ? [] : core.rules();
    // Rules that are held here are replaced in the same turn of the event loop as they are checked.
    const before = present instanceof Promise ? await present : present;
    if (hasCondition(call)) expectMatch(call, before.map(encode));
    const { rules, lost } = continueRules(written, before, unsaid);
    await core.replaceRules(rules);
    if (lost > 0) log.warn({ rules: lost, mount: mount.label }, RULES_LOST);
    return answer(true);
  }),
  getDnsConfig: async ({ context: { core }, mount }) =>
    tagged(traitsOf(mount.revision, 'dns').form.encode(await core.dns())),
  putDnsConfig: withBody<WireDnsChange>(async (call, body) => {
    const { core } = call.context;
    const { decode, encode } = traitsOf(call.mount.revision, 'dns').form;
    if (hasCondition(call)) {
      // Settings that are held here are changed in the same turn of the event loop as they are checked.
      const present = core.dns();
      expectMatch(call, encode(present instanceof Promise ? await present : present));
    }
    // Servers of these lines report success even if the file cannot be written, which is logged.
    await core.changeDns(decode(body)).catch(unlessInMemory);
    return answer(true);
  }),
  listDnsQueries: async ({ context: { core } }) => {
    const queries = await core.queries();
    return answer(
      queries.map(({ timestamp, domain, clientIp, blocked, failed }) => ({
        timestamp,
        domain,
        client_ip: clientIp,
        blocked,
        ...(failed === true ? { failed } : {}),
      })),
    );
  },
  getShare: async (call) => {
    const key = await askedKey(call);
    return answer({ ...sharedLinks(await call.context.offerFacts(), key) });
  },
  makeQr: withBody<{ text: string }>(async (_call, { text }) => {
    if (Buffer.byteLength(text) > MOST_IN_CODE) throw new DomainError('invalidBody', 'text too long for a QR code');
    return answer(qrDocument(text));
  }),
  getDnsStats: async ({ context: { core } }) => {
    await core.dns(); // The resolver uses the present settings.
    return answer(dnsStats(core.resolver.figures()));
  },
  getDnsLog: async ({ context: { core }, request }) => {
    const query = queryOf(request);
    const limit = query.get('limit') ?? `${LOG_DEFAULT}`;
    if (!/^\d+$/.test(limit)) throw new DomainError('invalidBody', 'limit: expected an unsigned integer');
    const log = core.resolver.log(Math.min(Number(limit), LOG_MOST), (query.get('q') ?? '').trim());
    return answer(log.map(dnsLogEntry));
  },
  clearDnsLog: async ({ context: { core } }) => {
    core.resolver.clearLog();
    return answer(true);
  },
  getDnsSettings: async ({ context: { core }, mount }) =>
    answer(traitsOf(mount.revision, 'dnsEngine').form.encode(await core.dns())),
  putDnsSettings: withBody<WireDnsSettings>(async ({ context: { core }, mount }, body) => {
    const change = traitsOf(mount.revision, 'dnsEngine').form.decode(body);
    refuseUnserved(change.resolver, resolverSettings(await core.dns()));
    await core.changeDns(change);
    return answer(true);
  }),
  updateDnsLists: async ({ context: { core } }) =>
    answer((await core.resolver.updateLists()).map((list) => ({ ...list }))),
  testDnsName: withBody<{ domain: string }>(async ({ context: { core } }, { domain }) => {
    await core.dns(); // The resolver uses the present settings.
    return answer(dnsExplanation(core.resolver.explain(domain)));
  }),
  getDnsMeta: async () => answer({ presets: LIST_PRESETS, services: SERVICES }),
  getOvernet: async ({ context: { core }, mount }) => answer(overnetAnswer(mount, (await core.published()).overnet)),
  putOvernet: withBody<WireOvernet>(async ({ context: { core }, mount }, body) => {
    const { form } = traitsOf(mount.revision, 'overnet');
    const overnet = form.decode(body);
    const patch = Buffer.from(encodeJson({ overnet: form.encode(overnet) }));
    await core.patchConfig({ form: 'merge', body: patch, condition: () => undefined });
    return answer(overnetAnswer(mount, overnet));
  }),
  refreshBlocklists: async ({ context: { core } }) => {
    await core.refreshBlocklists();
    return answer(true);
  },
};
