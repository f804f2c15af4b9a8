import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { AuditEvent } from '../core/audit.js';
import { continueRules } from '../core/continued-rules.js';
import type { Core } from '../core/core.js';
import { resolverSettings } from '../core/dns-settings.js';
import { DomainError, isInMemory } from '../core/errors.js';
import { createdBy, seesOwnAlone } from '../core/keys/key-makers.js';
import { recordOf } from '../core/keys/key-record.js';
import { type MaybeAsync, mapMaybeAsync } from '../core/maybe-async.js';
import type { DnsConfig, KeySnapshot, OvernetSettings } from '../core/model.js';
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
  extends Pick<AppOptions, 'core' | 'makers' | 'announced' | 'offerFacts' | 'callerOf' | 'log'> {
  readonly list: ListBody;
  readonly audit: AuditBody;
  readonly login: Login;
  readonly rate: StrangerRate;
}

/** One request to an operation, after the access check, its body read and found to fit its schema. */
export interface Call {
  readonly context: HandlerContext;
  readonly mount: Mount;
  readonly request: FastifyRequest;
  /** The access key of the path, decoded; empty where the path has none. */
  readonly key: string;
  readonly body: unknown;
}

/** A success; `payload` is the whole envelope. */
export interface OperationAnswer {
  /** Default 200; a 304 has no payload. */
  readonly status?: 200 | 304;
  readonly payload: string | Buffer | readonly Buffer[];
  readonly headers?: Readonly<Record<string, string>>;
  /** To be called once the payload has been sent, or will not be. */
  readonly settled?: () => void;
}

export type Handler = (call: Call) => MaybeAsync<OperationAnswer>;

const answer = (data: Encodable): OperationAnswer => ({ payload: successEnvelope(data) });

/** Gives the handler its body typed; the operations table has had it validated against that schema. */
const withBody =
  <Body>(handler: (call: Call, body: Body) => Promise<OperationAnswer>): Handler =>
  (call) =>
    handler(call, call.body as Body);

function withKey(
  { context: { core, makers }, key, request }: Call,
  then: (key: KeySnapshot) => MaybeAsync<OperationAnswer>,
): MaybeAsync<OperationAnswer> {
  return mapMaybeAsync(core.key(key), (found) => {
    if (found === undefined || !makers.sees(request.principal, key)) throw new DomainError('userNotFound');
    return then(found);
  });
}

/** RFC 9111, 5.2.2: no cache that others use keeps it, and no other without asking. */
const NOT_SHARED = 'private, no-cache';

/** The list of a caller who sees those keys alone that were made with his token. */
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

/** Tells whether `If-None-Match` or `If-Match` names this entity tag; one that a proxy has made weak compares as a strong one. */
function hasTag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '');
  return header.split(',').some((tag) => tag.trim() === '*' || opaque(tag) === opaque(etag));
}

const tagOf = (payload: string) => `"${createHash('sha256').update(payload).digest('base64url')}"`;

/** A success with the entity tag of what it says, which pages of other origins may read, too. */
function tagged(data: Encodable): OperationAnswer {
  const payload = successEnvelope(data);
  return { payload, headers: { etag: tagOf(payload), 'access-control-expose-headers': 'etag' } };
}

const hasCondition = ({ request }: Call) => request.headers['if-match'] !== undefined;

/** Throws where `If-Match` is meant for other settings than the present ones (RFC 9110, 13.1.1). */
function expectMatch({ request }: Call, present: Encodable): void {
  if (!hasTag(request.headers['if-match'], tagOf(successEnvelope(present))))
    throw new DomainError('preconditionFailed');
}

function subscribe(call: Call): MaybeAsync<OperationAnswer> {
  const { core } = call.context;
  return mapMaybeAsync(core.subscriber(call.key), (found) => {
    if (found === undefined) throw new DomainError('userNotFound');
    const { accessKey } = found;
    const isLink = (call.request.headers.accept ?? '').includes('text/plain');
    const wanted = { accessKey, isLink, transport: queryOf(call.request).get('transport') };
    const { subscribe: form, shareQuery } = call.mount.revision;
    const { encode } = form;
    if (encode.by === 'ways')
      return mapMaybeAsync(call.context.offerFacts(), (facts) => ({ payload: encode.envelope(wanted, waysOf(facts)) }));
    // Finding the key may tell how the server that holds the state is announced.
    const announced = call.context.announced();
    const query = shareQuery.query(announced.shareQuery, core.hasOwnDns());
    return { payload: encode.envelope(wanted, { announced, query }) };
  });
}

function queryOf({ url }: FastifyRequest): URLSearchParams {
  const at = url.indexOf('?');
  return new URLSearchParams(at < 0 ? '' : url.slice(at + 1));
}

function getStatus({ context, mount: { revision, version } }: Call): MaybeAsync<OperationAnswer> {
  const { core, offerFacts } = context;
  const { status: form } = revision;
  return mapMaybeAsync(core.status(), (counts) => {
    const told = { ...counts, version };
    if (!form.tellsServer) return { payload: successEnvelopeOf(form.encode(told, null)) };
    return mapMaybeAsync(offerFacts(), (facts) => {
      const { sums = { ...core.keys.sums(), online: core.keys.counts.connected } } = counts;
      const server = { ...sums, endpoint: endpointOf(facts) };
      return { payload: successEnvelopeOf(form.encode(told, server)) };
    });
  });
}

/** Bytes of a text in a code, as servers take them. */
const MOST_IN_CODE = 2048;
const LOG_DEFAULT = '200';
const LOG_MOST = 2000;

function overnetAnswer({ revision }: Mount, overnet: OvernetSettings): Encodable {
  // Keyway keeps the settings, and runs nothing of it.
  const config = traitsOf(revision, 'overnet').form.encode(overnet);
  return { config, serving: false, gateway_up: null, exit_listening: null };
}

/** Answers once the settings that the resolver goes by are those of now. */
function withDns(core: Core, then: () => OperationAnswer): MaybeAsync<OperationAnswer> {
  return mapMaybeAsync(core.dns(), then);
}

type Limit = Pick<CreateUser, 'limit_bytes'>;
type Meta = Omit<CreateUser, 'access_key'>;

/** Bytes that an anonymous entry counts for: some 16 a second from one network, for they may cost a server behind a write each. */
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
  createUser: withBody<CreateUser>(async ({ context: { core, makers }, request: { principal } }, body) => {
    const { access_key: accessKey = null, name = null, limit_bytes: limitBytes = null } = body;
    if (accessKey !== null) {
      const { op } = await createdBy(core, makers, principal, recordOf(accessKey, { name, limitBytes }));
      if (op === 'update') {
        await core.updateUser({ accessKey });
        return answer(accessKey);
      }
    }
    const made = await core.createUser({ accessKey, name, limitBytes });
    await makers.made(principal, [made]);
    return answer(made);
  }),
  bulkCreateUsers: withBody<Limit & { count: bigint }>(
    async ({ context: { core, makers }, request: { principal } }, body) => {
      const made = await core.bulkCreateUsers(body.count, body.limit_bytes ?? null);
      await makers.made(principal, made);
      return answer(made);
    },
  ),
  getUser: (call) =>
    withKey(call, (key) => {
      const { snapshot, online } = call.mount.revision;
      return { payload: successEnvelopeOf(snapshot.encode(key, online.isOnline(key.counters))) };
    }),
  updateUser: withBody<Meta>(async ({ context: { core }, key }, body) => {
    await core.updateUser({ accessKey: key, name: body.name ?? null, limitBytes: body.limit_bytes ?? null });
    return answer('User updated');
  }),
  async deleteUser({ context: { core, makers }, key }) {
    await core.deleteUser(key);
    await makers.gone([key]);
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
  listAudit: ({ context: { audit, rate }, request }) => {
    const coding = acceptedCoding(request.headers['accept-encoding']);
    const told = request.hasCredential ? null : rate.begins(request.raw);
    return mapMaybeAsync(audit(coding), (payload) => {
      told?.(payload.length);
      const encoding = coding === null ? {} : { 'content-encoding': coding };
      return { payload, headers: { vary: 'accept-encoding', ...encoding } };
    });
  },
  addAudit: withBody<AuditEvent>(async ({ context: { core, rate }, request }, { eventEn, eventRu, success }) => {
    if (!request.hasCredential) rate.sends(request.raw, AUDIT_COST);
    await core.audit.add({ eventEn, eventRu, success });
    return answer(true);
  }),
  clearAudit: ({ context: { core } }) => mapMaybeAsync(core.audit.clear(), () => answer(null)),
  getRules: ({ context: { core }, mount }) =>
    mapMaybeAsync(core.rules(), (rules) => tagged(rules.map(traitsOf(mount.revision, 'rules').form.encode))),
  putRules: withBody<WireOutboundRule[]>(async (call, body) => {
    const { core, log } = call.context;
    const { mount } = call;
    const { decode, encode, unsaid } = traitsOf(mount.revision, 'rules').form;
    const written = body.map(decode);
    const present = unsaid.length === 0 && !hasCondition(call) ? [] : core.rules();
    // In the turn of the check, where the rules are here.
    await mapMaybeAsync(present, async (before) => {
      if (hasCondition(call)) expectMatch(call, before.map(encode));
      const { rules, lost } = continueRules(written, before, unsaid);
      await core.replaceRules(rules);
      if (lost > 0) log.warn({ rules: lost, mount: mount.label }, RULES_LOST);
    });
    return answer(true);
  }),
  getDnsConfig: ({ context: { core }, mount }) =>
    mapMaybeAsync(core.dns(), (dns) => tagged(traitsOf(mount.revision, 'dns').form.encode(dns))),
  putDnsConfig: withBody<WireDnsChange>(async (call, body) => {
    const { core } = call.context;
    const { decode, encode } = traitsOf(call.mount.revision, 'dns').form;
    const present = hasCondition(call) ? core.dns() : null;
    const change = async (before: DnsConfig | null) => {
      if (before !== null) expectMatch(call, encode(before));
      await core.changeDns(decode(body));
    };
    // These lines answer success where the file cannot be written; the log and the next write know of it.
    await Promise.resolve(mapMaybeAsync(present, change)).catch((error: unknown) => {
      if (!isInMemory(error)) throw error;
    });
    return answer(true);
  }),
  listDnsQueries: ({ context: { core } }) =>
    mapMaybeAsync(core.queries(), (queries) =>
      answer(
        queries.map(({ timestamp, domain, clientIp, blocked, failed }) => ({
          timestamp,
          domain,
          client_ip: clientIp,
          blocked,
          ...(failed === true ? { failed } : {}),
        })),
      ),
    ),
  getShare: (call) =>
    withKey(call, (key) => mapMaybeAsync(call.context.offerFacts(), (facts) => answer({ ...sharedLinks(facts, key) }))),
  makeQr: withBody<{ text: string }>(async (_call, { text }) => {
    if (Buffer.byteLength(text) > MOST_IN_CODE) throw new DomainError('invalidBody', 'text too long for a QR code');
    return answer(qrDocument(text));
  }),
  getDnsStats: ({ context: { core } }) => withDns(core, () => answer(dnsStats(core.resolver.figures()))),
  getDnsLog: ({ context: { core }, request }) => {
    const query = queryOf(request);
    const limit = query.get('limit') ?? `${LOG_DEFAULT}`;
    if (!/^\d+$/.test(limit)) throw new DomainError('invalidBody', 'limit: expected an unsigned integer');
    const log = core.resolver.log(Math.min(Number(limit), LOG_MOST), (query.get('q') ?? '').trim());
    return answer(log.map(dnsLogEntry));
  },
  clearDnsLog: ({ context: { core } }) => {
    core.resolver.clearLog();
    return answer(true);
  },
  getDnsSettings: ({ context: { core }, mount }) =>
    mapMaybeAsync(core.dns(), (dns) => answer(traitsOf(mount.revision, 'dnsEngine').form.encode(dns))),
  putDnsSettings: withBody<WireDnsSettings>(async ({ context: { core }, mount }, body) => {
    const change = traitsOf(mount.revision, 'dnsEngine').form.decode(body);
    refuseUnserved(change.resolver, resolverSettings(await core.dns()));
    await core.changeDns(change);
    return answer(true);
  }),
  updateDnsLists: async ({ context: { core } }) =>
    answer((await core.resolver.updateLists()).map((list) => ({ ...list }))),
  testDnsName: withBody<{ domain: string }>(async ({ context: { core } }, { domain }) =>
    withDns(core, () => answer(dnsExplanation(core.resolver.explain(domain)))),
  ),
  getDnsMeta: () => answer({ presets: LIST_PRESETS, services: SERVICES }),
  getOvernet: ({ context: { core }, mount }) =>
    mapMaybeAsync(core.published(), ({ overnet }) => answer(overnetAnswer(mount, overnet))),
  putOvernet: withBody<WireOvernet>(async ({ context: { core }, mount }, body) => {
    const { form } = traitsOf(mount.revision, 'overnet');
    const overnet = form.decode(body);
    const patch = Buffer.from(encodeJson({ overnet: form.encode(overnet) }));
    await core.patchConfig({ form: 'merge', body: patch, condition: () => undefined });
    return answer(overnetAnswer(mount, overnet));
  }),
  refreshBlocklists: ({ context: { core } }) => mapMaybeAsync(core.refreshBlocklists(), () => answer(true)),
};
