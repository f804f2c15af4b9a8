import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { createFeed } from '../../src/feed/feed.js';
import { createGateway } from '../../src/gateway/create-gateway.js';
import { silent } from '../../src/gateway/options.js';
import { OWN_OPERATIONS, type OwnOperationName } from '../../src/own-api/operations.js';
import { createMemoryFiles } from '../../src/platform/memory-files.js';
import { systemClock, systemRandom } from '../../src/platform/system-ports.js';
import { OPERATIONS, type OperationName, operationNamed, serves } from '../../src/wire/operations.js';
import { countedWork } from '../counted-work.js';

const CONFIG = '/etc/server.json';
const TOKEN = 'T0ken';
/** Ten times the input may take so many times the work. */
const MOST = 12;

type Many = <T>(make: (index: number) => T) => readonly T[];

interface Asked {
  readonly body: unknown;
  readonly query?: string;
  readonly type?: string;
}

interface Row {
  readonly mount: 'current' | 'dns' | '0.4.7';
  /** How many the smaller input has. */
  readonly few: number;
  /** What the configuration has before, besides what every one has. */
  readonly before?: (many: Many) => object;
  readonly ask: (many: Many) => Asked;
}

const keys = (many: Many) =>
  many((index) => ({ access_key: `key ${index}`, name: `Name ${index}`, limit_bytes: index }));
const configuration = (others: object = {}) => ({
  mode: 'server',
  api: { enabled: true, token: TOKEN },
  outbound: { enabled: true, rules: [] },
  ...others,
});
const named = (many: Many) => Object.fromEntries(many((index) => [`host${index}.example`, '192.0.2.1']));
const lists = (many: Many) =>
  many((index) => ({ name: `List ${index}`, url: `https://lists.example/${index}`, enabled: false }));

const row = (few: number, ask: Row['ask'], others: Partial<Row> = {}): Row => ({
  mount: 'current',
  few,
  ask,
  ...others,
});
const batch = (item: (index: number) => object) => (many: Many) => ({ body: { items: many(item) }, query: '?wait=30' });

const OPERATION_ROWS: Readonly<Partial<Record<OperationName, readonly Row[]>>> = {
  putConfig: [row(100, (many) => ({ body: configuration({ access_keys: keys(many) }) }))],
  bulkCreateUsers: [row(100, (many) => ({ body: { count: many(() => null).length } }))],
  putRules: [
    row(100, (many) => ({
      body: many((index) => ({
        domain_suffix: [`.host${index}.example`],
        ip_cidr: [],
        protocol: null,
        action: 'proxy',
      })),
    })),
    row(100, (many) => ({ body: [{ domain_suffix: many((index) => `.${index}`), ip_cidr: [], action: 'block' }] })),
  ],
  putDnsConfig: [
    row(
      100,
      (many) => ({
        body: {
          ...{ enabled: false, doh_upstream: 'https://dns.example/q', custom_domains: named(many) },
          adblock_urls: many((index) => `https://lists.example/${index}`),
        },
      }),
      { mount: 'dns' },
    ),
  ],
  putDnsSettings: [
    row(
      100,
      (many) => ({
        body: {
          ...{ enabled: false, lists: lists(many), allowlists: lists(many) },
          ...{
            user_rules: many((index) => `||host${index}.example^`),
            upstreams: many((index) => `192.0.2.${index % 250}`),
          },
          rewrites: many((index) => ({ domain: `host${index}.example`, answer: '192.0.2.1' })),
        },
      }),
      { mount: '0.4.7' },
    ),
  ],
};

const OWN_ROWS: Readonly<Partial<Record<OwnOperationName, readonly Row[]>>> = {
  batchKeys: [
    row(
      100,
      batch((index) => ({ op: 'create', access_key: `key ${index}`, name: `Name ${index}` })),
    ),
    ...(['update', 'delete', 'rotate', 'reset'] as const).map((op) =>
      row(
        200,
        batch((index) => ({ op, access_key: `key ${index}`, ...(op === 'update' ? { name: 'Other' } : {}) })),
        {
          before: (many) => ({ access_keys: keys(many) }),
        },
      ),
    ),
    row(
      100,
      batch((index) => ({ op: index % 2 === 0 ? 'create' : 'delete', access_key: `key ${index >> 2}` })),
    ),
  ],
  patchConfiguration: [
    row(100, (many) => ({
      body: { extra: Object.fromEntries(many((index) => [`member ${index}`, index])) },
      type: 'application/merge-patch+json',
    })),
    row(
      100,
      (many) => ({
        body: many((index) => ({ op: 'replace', path: `/extra/member ${index}`, value: 'other' })),
        type: 'application/json-patch+json',
      }),
      { before: (many) => ({ extra: Object.fromEntries(many((index) => [`member ${index}`, index])) }) },
    ),
    row(
      100,
      (many) => ({
        body: many((index) => ({ op: 'add', path: '/extra/0', value: index })),
        type: 'application/json-patch+json',
      }),
      { before: (many) => ({ extra: many((index) => index) }) },
    ),
  ],
  patchDns: [
    row(
      200,
      (many) => ({ body: { lists: many((index) => ({ url: `https://lists.example/${index}`, enabled: false })) } }),
      {
        before: (many) => ({
          dns: { enabled: false, adblock_urls: many((index) => `https://lists.example/${index}`) },
        }),
      },
    ),
  ],
};

const withKeys = { before: (many: Many) => ({ access_keys: keys(many) }) };
const counted = (many: Many) =>
  many((index) => ({ access_key: `key ${index}`, bytes_up: 1, bytes_down: 2, connections: 1 }));

/** What tunnel servers send to the feed, by its path. */
const FEED_ROWS: Readonly<Record<string, Row>> = {
  '/v1/usage': row(100, (many) => ({ body: { report_id: 'one', entries: counted(many) } }), withKeys),
  '/v1/counters': row(
    100,
    (many) => ({ body: { source: 's', epoch: 1, number: 1, counters: counted(many) } }),
    withKeys,
  ),
};

const manyOf =
  (count: number): Many =>
  (make) =>
    Array.from({ length: count }, (_, index) => make(index));

/** A gateway over a file in memory with every line that one of the rows needs. */
async function gatewayWith(before: object) {
  const fileSystem = createMemoryFiles();
  await fileSystem.makeFolder('/etc', 0o700);
  await fileSystem.create(CONFIG, Buffer.from(JSON.stringify(configuration(before))), 0o600);
  const mounts = ['current', 'dns', '0.4.7'].map((revision) => ({ revision, webpath: revision }));
  const app = await createGateway({ configPath: CONFIG, fileSystem, mounts, loginGuard: 'off' });
  onTestFinished(() => app.close());
  return app;
}

function feedOf({ keyway: { backend, tokens } }: Awaited<ReturnType<typeof createGateway>>): FastifyInstance {
  const networkOf = () => '';
  const { app } = createFeed({
    ...{ backend, tokens, networkOf },
    token: null,
    clock: systemClock,
    random: systemRandom,
    log: silent,
  });
  onTestFinished(() => app.close());
  return app;
}

async function send(
  app: FastifyInstance,
  method: string,
  url: string,
  { body, query = '', type }: Asked,
): Promise<void> {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': type ?? 'application/json' };
  const payload = JSON.stringify(body);
  const answer = await app.inject({ method: method as 'PUT', url: `${url}${query}`, headers, payload });
  expect([answer.statusCode, answer.statusCode === 200 ? '' : answer.payload]).toEqual([200, '']);
}

describe('ten times the input takes at most twelve times the work', () => {
  let work: Awaited<ReturnType<typeof countedWork>>;
  beforeAll(async () => {
    work = await countedWork();
  });
  afterAll(() => work.end());

  async function expectLinear(method: string, url: string, { few, before, ask }: Row, isFeed = false): Promise<void> {
    const worked = async (count: number) => {
      const many = manyOf(count);
      const gateway = await gatewayWith(before?.(many) ?? {});
      const app = isFeed ? feedOf(gateway) : gateway;
      return work.of(() => send(app, method, url, ask(many)));
    };
    const [less, more] = [await worked(few), await worked(10 * few)];
    // It was counted at all: a few blocks for each element.
    expect(less).toBeGreaterThan(few);
    expect(more / less, `${method} ${url}: ${less} blocks for ${few}, ${more} for ten times as many`).toBeLessThan(
      MOST,
    );
  }

  for (const [name, rows] of Object.entries(OPERATION_ROWS))
    it.each(rows.map((each, index) => [index + 1, each] as const))(`of ${name}, input %i`, async (_, each) => {
      const { method, path } = operationNamed(name as OperationName);
      await expectLinear(method, `/${each.mount}/api${path}`, each);
    });

  for (const [name, rows] of Object.entries(OWN_ROWS))
    it.each(rows.map((each, index) => [index + 1, each] as const))(`of ${name}, input %i`, async (_, each) => {
      const found = OWN_OPERATIONS.find((operation) => operation.name === name);
      await expectLinear(found?.method ?? '', `/${each.mount}/keyway/v1${found?.path}`, each);
    });

  it.each(Object.entries(FEED_ROWS))('of the feed’s %s', (path, each) => expectLinear('POST', path, each, true));

  it('for every operation and call that takes a list or a document', () => {
    const isLong = (schema: unknown) =>
      /"type":"array"|"patternProperties"|"additionalProperties":\{/.test(textOf(schema));
    const operations = OPERATIONS.filter((operation) => {
      const { body } = operation;
      if (body.kind !== 'json') return body.kind === 'wholeConfig';
      return REVISIONS.some((each) => serves(each, operation) && isLong(body.schema(each)));
    });
    const calls = OWN_OPERATIONS.filter(
      ({ body }) => body !== undefined && (body.isRaw === true || isLong(body.schema)),
    );
    // One number that stands for a list.
    expect(['bulkCreateUsers', ...operations.map(({ name }) => name)].sort()).toEqual(
      Object.keys(OPERATION_ROWS).sort(),
    );
    expect(calls.map(({ name }) => name).sort()).toEqual(Object.keys(OWN_ROWS).sort());
  });
});

const textOf = (schema: unknown): string =>
  JSON.stringify(schema, (_name, value: unknown) => (typeof value === 'bigint' ? Number(value) : value));
