import { Check } from 'typebox/schema';
import { describe, expect, it } from 'vitest';
import { feedOpenApiDocument } from '../../src/feed/openapi.js';
import { COUNTERS_BODY_LIMIT, FEED_PATHS, FEED_ROUTES } from '../../src/feed/routes.js';
import { encodeJson } from '../../src/wire/json/write-json.js';
import { runHere } from '../commands/context.js';
import { type Answer, feedStage, report } from './stage.js';

interface Described {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: object }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content; readonly headers?: object }>>;
}

type Content = { readonly 'application/json': { readonly schema: object } };

interface Document {
  readonly openapi: string;
  readonly security: unknown;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

const text = encodeJson(feedOpenApiDocument());
/** What only a gateway in front of a running server answers. */
const FRONT = [502, 504];
const document: Document = JSON.parse(text);

function operation(path: string): Described {
  const [described] = Object.values(document.paths[path] ?? {});
  if (described === undefined) throw new Error(`${path} is not described`);
  return described;
}

/** The schema with its references resolved, and objects that hold nothing but what it names. */
function strict(schema: unknown): object {
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== 'object' || value === null) return value;
    if ('$ref' in value) return walk(document.components.schemas[String(value.$ref).split('/').at(-1) ?? '']);
    const members = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, walk(member)]));
    return members.type === 'object' ? { ...members, additionalProperties: false } : members;
  };
  return Object(walk(schema));
}

function expectAsDescribed(path: string, { status, headers, body, text: sent }: Answer): void {
  const response = operation(path).responses[status];
  if (response === undefined) throw new Error(`${path}: ${status} is not described: ${sent}`);
  const schema = response.content?.['application/json'].schema;
  if (schema === undefined) expect(sent, path).toBe('');
  else expect(Check(strict(schema), body), `${path} ${status} ${sent}`).toBe(true);
  for (const name of Object.keys(response.headers ?? {})) expect(headers.get(name), name).not.toBe(null);
}

describe('the OpenAPI document of the feed', () => {
  it('has every route of the feed with its method, and no other', async () => {
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(described).toEqual(FEED_PATHS.map((path) => `${FEED_ROUTES[path].method} ${path}`));
    const stage = await feedStage({ keys: [] });
    for (const path of FEED_PATHS) {
      const isPost = FEED_ROUTES[path].method === 'POST';
      expect((await (isPost ? stage.post(path, '') : stage.get(path))).status, path).toBe(isPost ? 400 : 200);
      const other = await (isPost ? stage.get(path) : stage.post(path, ''));
      expect([other.status, other.headers.get('allow')]).toEqual([405, FEED_ROUTES[path].allow]);
    }
  });

  it('describes the real answers, whatever their status, and nothing that they do not hold', async () => {
    const stage = await feedStage({ keys: ['a', { access_key: 'b', limit_bytes: 5 }] });
    const usage = (body: unknown, path = '/v1/usage') => stage.post(path, body);
    const whole = await stage.get('/v1/keys');
    const posted = { source: 's', epoch: 2, number: 1, counters: [{ access_key: 'x', bytes_up: 1, bytes_down: 2 }] };
    const counters = (body: unknown, headers = {}) => stage.post('/v1/counters', body, headers);
    const answers: readonly (readonly [string, Answer])[] = [
      ['/v1/keys', whole],
      ['/v1/counters', await counters(posted)],
      ['/v1/counters', await counters(posted)],
      ['/v1/counters', await counters({ ...posted, epoch: 1 })],
      ['/v1/counters', await counters('{')],
      ['/v1/counters', await counters(' '.repeat(COUNTERS_BODY_LIMIT + 1))],
      ['/v1/counters', await counters(posted, { authorization: 'no' })],
      ['/v1/usage', await usage(report('r', ['a', 1, 2, 3], ['b', 5, 5], ['x', 1, 1]))],
      ['/v1/usage', await usage(report('r', ['a', 1, 2]), '/v1/usage?ack=memory')],
      ['/v1/usage', await usage('{')],
      ['/v1/usage', await usage(' '.repeat(5_000_000))],
      ['/v1/usage', await stage.post('/v1/usage', '{}', { authorization: 'no' })],
      ['/v1/keys', await stage.get(`/v1/keys?since=${JSON.parse(whole.text).version}`)],
      ['/v1/keys', await stage.get('/v1/keys?wait=301')],
      ['/v1/keys', await stage.get('/v1/keys', { authorization: 'no' })],
      ['/v1/admit', await stage.post('/v1/admit', { access_key: 'a' })],
      ['/v1/admit', await stage.post('/v1/admit', { access_key: 'b' })],
      ['/v1/admit', await stage.post('/v1/admit', { access_key: 'x' })],
      ['/v1/admit', await stage.post('/v1/admit', { access_key: '' })],
      ['/v1/admit', await stage.post('/v1/admit', ' '.repeat(5_000_000))],
      ['/v1/admit', await stage.post('/v1/admit', '{}', { authorization: 'no' })],
    ];
    for (const [path, answer] of answers) expectAsDescribed(path, answer);
    const current = await stage.get('/v1/keys', {
      'if-none-match': (await stage.get('/v1/keys')).headers.get('etag') ?? '',
    });
    expectAsDescribed('/v1/keys', current);
    const seen = new Set([...answers, ['/v1/keys', current] as const].map(([path, { status }]) => `${path} ${status}`));
    const described = FEED_PATHS.flatMap((path) =>
      Object.keys(operation(path).responses).map((status) => `${path} ${status}`),
    );
    // A full disk is needed for these (test/homes/file/counters/full-disk.test.ts), a server that is away (test/client), and
    // many who wait (test/feed/keys.test.ts).
    const rare = [
      '/v1/keys 429',
      '/v1/counters 503',
      '/v1/usage 503',
      ...FRONT.map((one) => `/v1/keys ${one}`),
      ...FRONT.map((one) => `/v1/admit ${one}`),
    ];
    expect(described.filter((one) => !seen.has(one)).sort()).toEqual(rare.sort());
  });

  it('takes the bodies that the feed takes, and refuses what it refuses', async () => {
    const stage = await feedStage({ keys: ['a'] });
    const entry = { access_key: 'a', bytes_up: 1, bytes_down: 1 };
    const bodies: readonly unknown[] = [
      { entries: [] },
      { report_id: null, entries: [entry] },
      { report_id: 'r', entries: [{ ...entry, connections: null }] },
      { entries: [{ ...entry, connections: 2, more: 1 }], more: {} },
      {},
      [],
      { entries: [{}] },
      { report_id: '', entries: [] },
      { report_id: 'r'.repeat(201), entries: [] },
      { entries: [{ ...entry, access_key: '' }] },
      { entries: [{ ...entry, bytes_up: -1 }] },
      { entries: [{ ...entry, bytes_up: 1.5 }] },
      { entries: [{ ...entry, bytes_up: '1' }] },
      { entries: [{ ...entry, connections: true }] },
    ];
    const post = { source: 's', epoch: 1, counters: [] };
    let number = 0;
    const posts: readonly object[] = [
      post,
      { ...post, counters: [entry] },
      { ...post, counters: [{ ...entry, connections: null, more: 1 }], from: 'zero', connections: 'total' },
      { ok: true, data: [entry] },
      { ...post, source: '' },
      { ...post, source: 's'.repeat(201) },
      { ...post, epoch: -1 },
      { ...post, from: 'one' },
      { ...post, connections: 1 },
      { source: 's', epoch: 1 },
      { ok: false, data: [] },
      { ...post, counters: [{ ...entry, bytes_up: null }] },
    ];
    const schemaOf = (path: string) => operation(path).requestBody?.content['application/json'].schema ?? {};
    for (const body of bodies) {
      const { status } = await stage.post('/v1/usage', body);
      expect(Check(schemaOf('/v1/usage'), body), JSON.stringify(body)).toBe(status === 200);
    }
    for (const given of posts) {
      number += 1;
      const query = 'ok' in given ? `?source=s&epoch=1&number=${number}` : '';
      const body = 'ok' in given ? given : { ...given, number };
      const { status, text: sent } = await stage.post(`/v1/counters${query}`, body);
      expect(Check(schemaOf('/v1/counters'), body), `${JSON.stringify(body)} ${sent}`).toBe(status === 200);
    }
  });

  it('describes every parameter that the feed reads, with its bounds and its default', async () => {
    const parameters = FEED_PATHS.flatMap((path) => operation(path).parameters ?? []);
    expect(parameters.map(({ in: where, name }) => `${where} ${name}`)).toEqual([
      'query ack',
      'query source',
      'query epoch',
      'query uptime_seconds',
      'query number',
      'query from',
      'query restart',
      'query connections',
      'query ack',
      'query since',
      'query wait',
      'header If-None-Match',
    ]);
    const stage = await feedStage({ keys: [] });
    const wait = parameters.find(({ name }) => name === 'wait')?.schema ?? {};
    for (const seconds of [-1, 0, 1.5, 301]) {
      expect(Check(wait, seconds), String(seconds)).toBe((await stage.get(`/v1/keys?wait=${seconds}`)).status === 200);
    }
    expect(Check(wait, 300)).toBe(true);
    const ack = parameters.find(({ name }) => name === 'ack')?.schema ?? {};
    for (const how of ['durable', 'memory', 'later', '']) {
      const { status } = await stage.post(`/v1/usage?ack=${how}`, { entries: [] });
      expect(Check(ack, how), how).toBe(status === 200);
    }
  });

  it('says who may ask, calls 64-bit integers integers with exact bounds, and refers to nothing that it lacks', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(document.security).toEqual([{ feedToken: [] }, {}]);
    expect(text).toContain('"maximum":18446744073709551615');
    expect(text).not.toContain('bigint');
    for (const [, name = ''] of text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)) {
      expect(document.components.schemas).toHaveProperty(name);
    }
    for (const path of FEED_PATHS) {
      expect(operation(path).summary.length).toBeGreaterThan(5);
      expect(operation(path).description.length).toBeGreaterThan(10);
    }
  });

  it('is what keyway openapi --feed prints, and --revision with it is a usage error', async () => {
    const printed = await runHere(['openapi', '--feed']);
    expect([printed.code, printed.complaints]).toEqual([0, '']);
    expect(JSON.parse(printed.output)).toEqual(JSON.parse(text));
    expect(printed.output).toContain('18446744073709551615');
    for (const argv of [['openapi'], ['openapi', '--feed', '--revision', 'current']]) {
      const { code, complaints } = await runHere(argv);
      expect([code, complaints]).toEqual([2, expect.stringContaining('expected --revision R')]);
    }
  });
});
