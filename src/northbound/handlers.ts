import type { FastifyRequest } from 'fastify';
import type { AuditEvent } from '../core/audit.js';
import type { Core } from '../core/core.js';
import { DomainError } from '../core/errors.js';
import { type MaybeAsync, mapMaybeAsync } from '../core/maybe-async.js';
import type { AnnouncedServer, KeySnapshot } from '../core/model.js';
import { clientConfig } from '../wire/client-config.js';
import { successEnvelope, successEnvelopeOf, successEnvelopeOfPieces } from '../wire/envelope.js';
import type { Encodable } from '../wire/json/write-json.js';
import type { CreateUser } from '../wire/operations/users.js';
import type { OperationName } from '../wire/operations.js';
import type { WireDnsChange } from '../wire/traits/dns-form.js';
import { traitsOf } from '../wire/traits/revision.js';
import type { WireOutboundRule } from '../wire/traits/rule-form.js';
import { shareLink } from '../wire/traits/share-link.js';
import type { AuditBody } from './audit-body.js';
import type { CallerOf } from './caller.js';
import { acceptedCoding, type ListBody } from './list-body.js';
import type { Login } from './login.js';
import type { Mount } from './mount.js';
import type { StrangerRate } from './stranger-rate.js';

/** The context of one mount's handlers. */
export interface HandlerContext {
  readonly core: Core;
  readonly announced: () => AnnouncedServer;
  readonly list: ListBody;
  readonly audit: AuditBody;
  readonly login: Login;
  readonly rate: StrangerRate;
  readonly callerOf: CallerOf;
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
  { context: { core }, key }: Call,
  then: (key: KeySnapshot) => MaybeAsync<OperationAnswer>,
): MaybeAsync<OperationAnswer> {
  return mapMaybeAsync(core.key(key), (found) => {
    if (found === undefined) throw new DomainError('userNotFound');
    return then(found);
  });
}

async function listUsers({ context: { core, list }, request }: Call): Promise<OperationAnswer> {
  const fresh = core.freshenKeys();
  if (fresh !== undefined) await fresh;
  const coding = acceptedCoding(request.headers['accept-encoding']);
  const stale = core.staleKeys();
  const vary = {
    vary: 'accept-encoding',
    // RFC 9111, 5.1.
    ...(stale === null ? {} : { age: String(Math.floor(stale / 1000)) }),
  };
  if (coding === null) {
    const payload = list.read();
    return { payload, headers: vary, settled: () => list.giveBack(payload) };
  }
  return { payload: await list.compressed(coding), headers: { ...vary, 'content-encoding': coding } };
}

function subscribe(call: Call): MaybeAsync<OperationAnswer> {
  const { core } = call.context;
  return mapMaybeAsync(core.subscriber(call.key), (found) => {
    if (found === undefined) throw new DomainError('userNotFound');
    const { accessKey } = found;
    // Finding the key may tell how the server that holds the state is announced.
    const announced = call.context.announced();
    if (!(call.request.headers.accept ?? '').includes('text/plain')) return answer(clientConfig(accessKey, announced));
    const query = call.mount.revision.shareQuery.query(announced.shareQuery, core.hasOwnDns());
    return answer(shareLink(accessKey, announced, query));
  });
}

type Limit = Pick<CreateUser, 'limit_bytes'>;
type Meta = Omit<CreateUser, 'access_key'>;

/** Bytes that an anonymous entry counts for: some 16 a second from one network, for they may cost a server behind a write each. */
const AUDIT_COST = 32 * 1024;

/** The handler of each operation, in the hub's terms. */
export const HANDLERS: Readonly<Record<OperationName, Handler>> = {
  getStatus: ({ context: { core }, mount }) =>
    mapMaybeAsync(core.status(), ({ active, total, uptimeSeconds }) => ({
      // The one answer that panels poll for, and none of its numbers passes 2^53.
      payload: successEnvelopeOf(
        JSON.stringify({
          version: mount.version,
          uptime_seconds: uptimeSeconds,
          active_users: active,
          total_users: total,
        }),
      ),
    })),
  getConfig: async ({ context: { core } }) => ({ payload: successEnvelopeOfPieces(await core.readConfig()) }),
  putConfig: withBody<Buffer>(async ({ context: { core } }, body) => {
    await core.replaceConfig(body);
    return answer(true);
  }),
  listUsers,
  createUser: withBody<CreateUser>(async ({ context: { core } }, body) =>
    answer(
      await core.createUser({
        accessKey: body.access_key ?? null,
        name: body.name ?? null,
        limitBytes: body.limit_bytes ?? null,
      }),
    ),
  ),
  bulkCreateUsers: withBody<Limit & { count: bigint }>(async ({ context: { core } }, body) =>
    answer(await core.bulkCreateUsers(body.count, body.limit_bytes ?? null)),
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
  async deleteUser({ context: { core }, key }) {
    await core.deleteUser(key);
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
    mapMaybeAsync(core.rules(), (rules) => answer(rules.map(traitsOf(mount.revision, 'rules').form.encode))),
  putRules: withBody<WireOutboundRule[]>(async ({ context: { core }, mount }, body) => {
    const { decode, complete } = traitsOf(mount.revision, 'rules').form;
    const rules = body.map(decode);
    await core.replaceRules(complete === null ? rules : complete(rules, await core.rules()));
    return answer(true);
  }),
  getDnsConfig: ({ context: { core }, mount }) =>
    mapMaybeAsync(core.dns(), (dns) => answer(traitsOf(mount.revision, 'dns').form.encode(dns))),
  putDnsConfig: withBody<WireDnsChange>(async ({ context: { core }, mount }, body) => {
    await core.changeDns(traitsOf(mount.revision, 'dns').form.decode(body));
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
  refreshBlocklists: ({ context: { core } }) => mapMaybeAsync(core.refreshBlocklists(), () => answer(true)),
};
