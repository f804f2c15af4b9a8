import { describe, expect, it } from 'vitest';
import { resolveRevision } from '../../revisions/index.js';
import { configuredAddress, linkOf } from '../../src/client/announcement.js';
import { dataBytes, readEnvelope } from '../../src/client/envelope.js';
import { createListReader } from '../../src/client/list-reader.js';
import { readSnapshot } from '../../src/client/snapshots.js';
import { DEFAULT_DNS } from '../../src/core/model.js';
import { isExchange } from '../../src/lab/format/scenario.js';
import { decodeError, encodeError } from '../../src/wire/errors.js';
import { type JsonValue, parseJson } from '../../src/wire/json/json.js';
import { encodeJson, writeJson } from '../../src/wire/json/write-json.js';
import { OPERATIONS, type OperationName, operationNamed } from '../../src/wire/operations.js';
import type { WireDnsChange } from '../../src/wire/traits/dns-form.js';
import { type Revision, traitsOf } from '../../src/wire/traits/revision.js';
import type { WireOutboundRule } from '../../src/wire/traits/rule-form.js';
import { foldersOf, scenariosOf } from '../acceptance/pack.js';

interface Recorded {
  readonly place: string;
  readonly line: Revision;
  readonly operation: OperationName;
  readonly path: string;
  readonly status: number;
  readonly body: JsonValue;
}

const names = new Set<string>(OPERATIONS.map(({ name }) => name));

/** What ten real servers answered, as far as it was JSON. */
const recorded: readonly Recorded[] = foldersOf('recorded')
  .filter((folder) => /^\d/.test(folder))
  .flatMap((folder) => scenariosOf(`recorded/${folder}`))
  .flatMap(({ file, scenario }) => {
    const resolved = resolveRevision(scenario.serverVersion ?? scenario.revision);
    if (!resolved.ok) throw new Error(resolved.problem);
    return scenario.exchanges.flatMap((step, index): Recorded[] => {
      if (!isExchange(step) || !names.has(step.operation) || step.response.body === undefined) return [];
      const { path } = step.request;
      const { status, body } = step.response;
      const operation = step.operation as OperationName; // It is among the names.
      return [{ place: `${file}, step ${index + 1}`, line: resolved.revision, operation, path, status, body }];
    });
  });

const answerOf = ({ status, body }: Recorded) => ({
  status,
  headers: new Map<string, string>(),
  body: Buffer.from(writeJson(body)),
  firstByteMilliseconds: 0,
});

const same = (encoded: string, body: JsonValue) => expect(parseJson(Buffer.from(encoded))).toEqual(body);

describe.each(
  [...new Set(recorded.map(({ line }) => line))].map((line) => ({ id: line.id, line })),
)('what a server of line $id answered, decoded by its line and encoded again, is itself:', ({ line }) => {
  const of = (...operations: readonly OperationName[]) =>
    recorded.filter((each) => each.line === line && operations.includes(each.operation));
  const data = (each: Recorded): JsonValue => {
    const envelope = readEnvelope(answerOf(each));
    if (envelope?.ok !== true) throw new Error(`${each.place} is no success`);
    return envelope.data;
  };
  const isSuccess = ({ status }: Recorded) => status === 200;
  const encodeKey = (key: Parameters<typeof line.snapshot.encode>[0]) =>
    line.snapshot.encode(key, line.online.isOnline(key.counters));

  it('keys and lists of keys', async () => {
    const lists = of('listUsers').filter(isSuccess);
    for (const each of lists) {
      const reader = createListReader(line);
      await reader.take(answerOf(each).body);
      same(`[${((await reader.end()) ?? []).map(encodeKey).join(',')}]`, data(each));
    }
    const one = of('getUser').filter(isSuccess);
    for (const each of one) same(encodeKey(readSnapshot(line, data(each))), data(each));
    expect(lists.length).toBeGreaterThan(0);
    expect(one.length).toBeGreaterThan(0);
  });

  it('configurations, by their bytes', () => {
    for (const each of of('getConfig').filter(isSuccess)) {
      const bytes = dataBytes(answerOf(each).body);
      expect(String(bytes)).toBe(writeJson(data(each)));
    }
  });

  it('rules and DNS settings', () => {
    for (const each of of('getRules').filter(isSuccess)) {
      const { form } = traitsOf(line, 'rules');
      const rules = data(each) as unknown as readonly WireOutboundRule[]; // They fit the schema of an answer.
      same(encodeJson(rules.map(form.decode).map(form.encode)), data(each));
    }
    for (const each of of('getDnsConfig').filter(isSuccess)) {
      const { form } = traitsOf(line, 'dns');
      const wire = data(each) as unknown as WireDnsChange; // It fits the schema of an answer.
      same(encodeJson(form.encode({ ...DEFAULT_DNS, ...form.read(wire) })), data(each));
    }
  });

  it('subscriptions', () => {
    const subscriptions = of('subscribe').filter(isSuccess);
    for (const each of subscriptions) {
      const key = decodeURIComponent(each.path.replace('/subscribe/', '').replace(/\?.*$/, ''));
      const value = data(each);
      const { encode } = line.subscribe;
      const isLink = typeof value === 'string';
      const wanted = { accessKey: key, isLink, transport: 'udp' };
      const told = isLink ? linkOf(value, key, line) : { shareScheme: 'ostp', shareQuery: '', ownDns: false };
      const ownDns = told.ownDns ?? false;
      const [, linked = '', linkedPort] = isLink ? (/@([^@]+):(\d+)(?:\?.*)?$/.exec(value) ?? []) : [];
      const { host, port } = isLink ? { host: linked, port: Number(linkedPort) } : configuredAddress(value);
      const dataOf = (envelope: string) => writeJson(Object(parseJson(Buffer.from(envelope))).data);
      if (encode.by === 'ways') {
        // Keyway asks these lines for the way over UDP.
        if (!(isLink ? value : encodeJson(value)).includes('udp')) continue;
        const way = { type: 'udp', tls: false, sni: null, insecure: false, path: null, tun: false, dns: null } as const;
        same(dataOf(encode.envelope(wanted, { udp: { ...way, host, port, ownDns }, tls: null })), value);
      } else {
        const query = line.shareQuery.query(told.shareQuery, ownDns);
        const { shareScheme, shareQuery } = told;
        same(dataOf(encode.envelope(wanted, { announced: { host, port, shareScheme, shareQuery }, query })), value);
      }
    }
    expect(subscriptions.length).toBeGreaterThan(0);
  });

  it('refusals', () => {
    for (const each of recorded.filter((one) => one.line === line && one.status >= 400)) {
      const envelope = readEnvelope(answerOf(each));
      if (envelope?.ok !== false) throw new Error(`${each.place} is no refusal`);
      const operation = operationNamed(each.operation);
      const error = decodeError(line.errors, operation, envelope);
      if (error === null) throw new Error(`${each.place}: ${envelope.text}`);
      expect([each.place, encodeError(line.errors, operation, error)]).toEqual([
        each.place,
        { status: envelope.status, text: envelope.text },
      ]);
    }
  });

  it('all others are what their operation answers in this line', () => {
    const told = new Set<OperationName>(['getStatus', 'listUsers', 'getUser', 'getConfig', 'subscribe']);
    for (const each of recorded.filter((one) => one.line === line && isSuccess(one) && !told.has(one.operation)))
      expect(readEnvelope(answerOf(each))).toMatchObject({ ok: true });
  });
});

it('all of what ten real servers answered is looked at', () => {
  expect(new Set(recorded.map(({ place }) => place)).size).toBeGreaterThan(500);
  expect(new Set(recorded.map(({ line }) => line.id)).size).toBe(10);
});
