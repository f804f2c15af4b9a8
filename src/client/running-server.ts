import type { AuditEntry, DnsQuery, KeySnapshot } from '../core/model.js';
import type { JsonValue } from '../wire/json/json.js';
import { type Encodable, encodeJson, writeJson } from '../wire/json/write-json.js';
import { type OperationName, operationNamed } from '../wire/operations.js';
import { checked, SchemaError } from '../wire/schema-check.js';
import { text } from '../wire/schemas.js';
import type { WireDnsChange } from '../wire/traits/dns-form.js';
import { type Revision, traitsOf } from '../wire/traits/revision.js';
import type { WireOutboundRule } from '../wire/traits/rule-form.js';
import { learnAnnouncement } from './announcement.js';
import { SINGLE } from './answer-bounds.js';
import type { Asked } from './asked.js';
import type { Caller, Pace } from './call.js';
import { createCaller } from './caller.js';
import { dataBytes } from './envelope.js';
import { Exchange, type ExchangeOptions } from './exchange.js';
import { readStatus } from './find-line.js';
import { createListReader } from './list-reader.js';
import type { UpstreamServer } from './server.js';
import { readSnapshot } from './snapshots.js';

/** The address, credentials and limits of a running server. */
export interface RunningServerOptions extends Omit<ExchangeOptions, 'caller'> {
  /** Certificates (PEM) that are trusted instead of the system's. */
  readonly ca?: Buffer;
  /** Replaces 10 s to the first byte and 1 KiB/s over 5 s. */
  readonly pace?: Pace;
  /** Replaces a caller over its own sockets. */
  readonly caller?: Caller;
}

/** Milliseconds that a call may take; those with large answers have their own. */
const TIMEOUT = 30_000;
/** Excludes a server that sends a byte a second. */
const PACE: Pace = { firstByteMilliseconds: 10_000, spanMilliseconds: 5_000, spanBytes: 5 * 1024 };
/** A list, one write, a few single reads and health checks can run at once; more have to wait. */
const CONNECTIONS = 8;

/** Creates the client of a running server. Nothing is sent before the first call. */
export function createRunningServer(options: RunningServerOptions): UpstreamServer {
  const { origin, ca, pace = PACE, caller = callerTo(origin, ca, pace) } = options;
  const exchange = new Exchange({ ...options, caller });
  const { texts } = exchange;
  const ask = <T>(asked: Asked<T>) => exchange.ask(asked);
  const write = (asked: Omit<Asked<void>, 'read'>) => ask<void>({ ...asked, read: () => undefined });

  return {
    name: origin,
    texts,
    line: () => exchange.known()?.revision ?? null,
    version: () => exchange.known()?.version ?? null,
    isLater: () => exchange.known()?.isLater ?? false,
    troubles: () => exchange.troubles.all(),
    onChange: (listener) => exchange.onChange(listener),
    find: async () => (await exchange.find()).revision,

    async status(purpose) {
      const sent = await ask({ operation: 'getStatus', purpose, read: statusOf });
      exchange.reported(sent.value.version);
      return sent;
    },
    listUsers: ({ purpose, known, onProgress } = {}) =>
      ask({
        operation: 'listUsers',
        purpose,
        size: 'list',
        ...(onProgress === undefined ? {} : { onProgress }),
        readPieces: (line, mostKeys) => createListReader(line, { known, mostKeys, strike: texts.struck }),
        read: notOfLine,
      }),
    getUser: (accessKey, purpose) =>
      ask<KeySnapshot | undefined>({
        operation: 'getUser',
        key: accessKey,
        purpose,
        read: (data, line) => readSnapshot(line, data),
        unknownKey: { value: undefined },
      }),
    createUser: ({ accessKey, name, limitBytes }) =>
      write({ operation: 'createUser', body: json({ access_key: accessKey, name, limit_bytes: limitBytes }) }),
    bulkCreateUsers: (count, limitBytes) =>
      ask({
        operation: 'bulkCreateUsers',
        body: json({ count, limit_bytes: limitBytes }),
        read: (data, line) => answerOf<readonly string[]>('bulkCreateUsers', data, line),
      }),
    updateUser: ({ accessKey, name, limitBytes }) =>
      write({ operation: 'updateUser', key: accessKey, body: json({ name, limit_bytes: limitBytes }) }),
    setLimit: (accessKey, limitBytes) =>
      write({ operation: 'setLimit', key: accessKey, body: json({ limit_bytes: limitBytes }) }),
    deleteUser: (accessKey) => write({ operation: 'deleteUser', key: accessKey }),
    resetUser: (accessKey) => write({ operation: 'resetUser', key: accessKey }),

    getConfig: (purpose) =>
      ask({ operation: 'getConfig', purpose, size: 'configuration', readWhole: dataBytes, read: noObject }),
    putConfig: (body, purpose) => write({ operation: 'putConfig', purpose, isLong: true, body: () => body }),

    rules: () =>
      ask({
        operation: 'getRules',
        size: 'section',
        read: (data, line) =>
          answerOf<readonly WireOutboundRule[]>('getRules', data, line).map(traitsOf(line, 'rules').form.decode),
      }),
    putRules: (rules) =>
      write({ operation: 'putRules', body: (line) => bytes(rules.map(traitsOf(line, 'rules').form.encode)) }),

    dns: () =>
      ask({
        operation: 'getDnsConfig',
        size: 'section',
        read: (data, line) => traitsOf(line, 'dns').form.read(answerOf<WireDnsChange>('getDnsConfig', data, line)),
      }),
    putDns: (dns) =>
      write({ operation: 'putDnsConfig', body: (line) => bytes(traitsOf(line, 'dns').form.encode(dns)) }),
    queries: () => ask({ operation: 'listDnsQueries', size: 'section', read: queriesOf }),
    refreshBlocklists: () => write({ operation: 'refreshBlocklists' }),

    listAudit: () =>
      ask({
        operation: 'listAudit',
        size: 'section',
        read: (data, line) => answerOf<readonly AuditEntry[]>('listAudit', data, line),
      }),
    addAudit: ({ eventEn, eventRu, success }) =>
      write({ operation: 'addAudit', body: json({ eventEn, eventRu, success }) }),
    clearAudit: () => write({ operation: 'clearAudit' }),

    link: (accessKey) =>
      ask<string | undefined>({
        operation: 'subscribe',
        key: accessKey,
        unknownKey: { value: undefined },
        headers: { accept: 'text/plain' },
        read: (data) => checked(text('A share link.'), data, 'data'),
      }),
    clientConfig: (accessKey) =>
      ask<JsonValue | undefined>({
        operation: 'subscribe',
        key: accessKey,
        unknownKey: { value: undefined },
        read: (data) => data,
      }),
    subscription: (accessKey, purpose) => learnAnnouncement(exchange, accessKey, purpose),
    close: caller.close,
  };
}

function callerTo(origin: string, ca: Buffer | undefined, pace: Pace): Caller {
  return createCaller({
    origin,
    timeoutMilliseconds: TIMEOUT,
    pace,
    connections: CONNECTIONS,
    answerLimit: SINGLE,
    caFlag: '--upstream-ca',
    ...(ca === undefined ? {} : { ca }),
  });
}

const bytes = (value: Encodable): Buffer => Buffer.from(encodeJson(value));
const json = (value: Encodable) => () => bytes(value);

/** Returns the data if it is what the operation answers in this line. Throws `SchemaError`. */
function answerOf<T>(operation: OperationName, data: JsonValue, line: Revision): T {
  return checked(operationNamed(operation).answer(line), data, 'data') as T; // The schema of the operation says so.
}

/** Throws for data that was read from the whole answer, and is of another form. */
function notOfLine(): never {
  throw new SchemaError('data', 'what the operation answers');
}

/** Returns the value as it is, because a server whose file is not an object reports it anyway. */
function noObject(data: JsonValue): Buffer {
  return Buffer.from(writeJson(data));
}

function statusOf(data: JsonValue) {
  const status = readStatus(data);
  if (status === null) throw new SchemaError('data', 'a status');
  return status;
}

interface WireQuery {
  readonly timestamp: bigint;
  readonly domain: string;
  readonly client_ip: string;
  readonly blocked: boolean;
}

function queriesOf(data: JsonValue, line: Revision): readonly DnsQuery[] {
  return answerOf<readonly WireQuery[]>('listDnsQueries', data, line).map((query) => ({
    timestamp: Number(query.timestamp),
    domain: query.domain,
    clientIp: query.client_ip,
    blocked: query.blocked,
  }));
}
