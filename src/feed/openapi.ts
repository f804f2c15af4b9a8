import type { TSchema } from 'typebox';
import { REMEMBERED_REPORTS } from '../core/backend.js';
import { MAX_U64 } from '../core/model.js';
import type { Encodable } from '../wire/json/write-json.js';
import { jsonSchema } from '../wire/openapi/json-schema.js';
import { Type } from '../wire/typebox.js';
import { MOST_SOURCE_LENGTH } from './counters-body.js';
import { MOST_ID_LENGTH } from './report-body.js';
import { BODY_LIMIT, COUNTERS_BODY_LIMIT, FEED_PATHS, FEED_ROUTES, type FeedRoute, MOST_WAIT } from './routes.js';

type Members = { readonly [name: string]: Encodable };

const u64 = (description: string) => Type.BigInt({ minimum: 0n, maximum: MAX_U64, description });
const text = (description: string) => Type.String({ description });
const accessKey = Type.String({ minLength: 1, description: 'The access key.' });

const REPORT = Type.Object({
  report_id: Type.Optional(
    Type.Union([Type.String({ minLength: 1, maxLength: MOST_ID_LENGTH }), Type.Null()], {
      description: `Names the report, so that it is not counted twice when it is sent again. The last ${REMEMBERED_REPORTS} are remembered, through restarts; over a database those of a day.`,
    }),
  ),
  entries: Type.Array(
    Type.Object({
      access_key: accessKey,
      bytes_up: u64('Bytes from the client since the last report; added.'),
      bytes_down: u64('Bytes to the client since the last report; added.'),
      connections: Type.Optional(
        Type.Union([u64('Number.'), Type.Null()], {
          description: 'The present number of connections; absent or null leaves it as it is.',
        }),
      ),
    }),
    { description: 'A key may occur several times. The report is counted whole or not at all.' },
  ),
});

const COUNTED = {
  repeated: Type.Boolean({ description: 'A report of this id was counted before; this one was not.' }),
  unknown_keys: Type.Array(Type.String(), {
    description: 'Keys that are not registered, each once; their entries are not counted.',
  }),
};

const counted = (description: string) =>
  Type.Object({
    access_key: accessKey,
    bytes_up: u64(`Bytes from the client, ${description}.`),
    bytes_down: u64(`Bytes to the client, ${description}.`),
    connections: Type.Optional(
      Type.Union([u64('Number.'), Type.Null()], {
        description: 'As the source has it; absent or null leaves it as it is.',
      }),
    ),
  });
const sinceStart = 'since the start of the run or the last reset';

const SAID = {
  source: Type.String({
    minLength: 1,
    maxLength: MOST_SOURCE_LENGTH,
    description: 'Names the tunnel server. Two sources add up.',
  }),
  epoch: u64('The run of the source: a number that is higher after every restart, such as the time of its start.'),
  uptime_seconds: u64('In place of `epoch`: how long the run has lasted; what differs by up to 5 s is the same run.'),
  number: u64('Rises within a run, such as the present time: what comes late or again is known by it.'),
  from: Type.Union([Type.Literal('zero'), Type.Literal('now')], {
    default: 'now',
    description: 'Whether the first post of a source counts from zero, or is what the next ones are compared with.',
  }),
  restart: Type.Union([Type.Literal('kept'), Type.Literal('zero')], {
    description:
      'Whether the source keeps its counters over a restart, for the first post of a run. Left out, it is what servers of `--server-version` do; without that they are kept where the sum of the post is at least half of the last one before, of the keys that both have.',
  }),
  connections: Type.Union([Type.Literal('total'), Type.Literal('present')], {
    default: 'present',
    description:
      '`total`: the source never lowers its connections. A key then has one connection for 30 s after its bytes have moved.',
  }),
};

const POSTED = Type.Union([
  Type.Object(
    {
      source: Type.Optional(SAID.source),
      epoch: Type.Optional(SAID.epoch),
      uptime_seconds: Type.Optional(SAID.uptime_seconds),
      number: Type.Optional(SAID.number),
      from: Type.Optional(SAID.from),
      restart: Type.Optional(SAID.restart),
      connections: Type.Optional(SAID.connections),
      counters: Type.Array(counted(sinceStart), {
        description: 'Each key once; a key that is not there is as before.',
      }),
    },
    { description: 'What is said of the post stands here or in the query.' },
  ),
  Type.Object(
    { ok: Type.Literal(true), data: Type.Array(counted(sinceStart)) },
    { description: 'The answer of a server to `GET /users`, as it came: a key that is not there has no connections.' },
  ),
]);

const POST_OUTCOME = {
  repeated: Type.Boolean({
    description: 'This number or a later one of the run was posted before; this one was not counted.',
  }),
  baseline: Type.Boolean({
    description: 'The first post of the source: nothing was counted, the next ones are compared with it.',
  }),
  unknown_keys: COUNTED.unknown_keys,
};

const ACKNOWLEDGEMENT = Type.Object({
  durable: Type.Boolean({
    description: 'Whether it outlives a crash. False for `ack=memory`, and where the server keeps nothing.',
  }),
  ...COUNTED,
});

const POST_ACKNOWLEDGEMENT = Type.Object({ durable: ACKNOWLEDGEMENT.properties.durable, ...POST_OUTCOME });

const KEYS = Type.Object({
  version: text('Stands for the answer: for the next `since`. Versions of another process are not known.'),
  complete: Type.Boolean({ description: 'True: these are all keys. False: the changes since `since`.' }),
  keys: Type.Array(
    Type.Object({
      access_key: accessKey,
      limit_bytes: Type.Union([u64('Bytes.'), Type.Null()], { description: 'Traffic limit; null means none.' }),
      over_limit: Type.Boolean({ description: 'Bytes up and down together have reached the limit.' }),
    }),
    { description: 'In the order of registration when complete.' },
  ),
  removed: Type.Array(Type.String(), { description: 'Keys that are registered no more; empty when complete.' }),
});

const ADMISSION = Type.Union([
  Type.Object({ allowed: Type.Literal(true) }),
  Type.Object({
    allowed: Type.Literal(false),
    reason: Type.Union([Type.Literal('unknown_key'), Type.Literal('over_limit')]),
  }),
]);

const ERROR = Type.Object({ error: text('What went wrong, naming the member and what was expected there.') });
const NOT_DURABLE = Type.Object({ ...ERROR.properties, ...COUNTED });
const POST_NOT_DURABLE = Type.Object({ ...ERROR.properties, ...POST_OUTCOME });

const ACK = query('ack', Type.Union([Type.Literal('durable'), Type.Literal('memory')], { default: 'durable' }), {
  description:
    'When to answer: once the report outlives a crash, or at once; then the last second may be lost in a crash.',
});

/** In front of a running server; for a day they go on from what was last known of it. */
const AWAY: Members = {
  502: failure('The server behind Keyway cannot be reached, or does not let Keyway in, and too little is known of it.'),
  504: failure('The server behind Keyway did not answer in time, and too little is known of it.'),
};

/** The document's words on each route. */
const OPERATIONS: Readonly<Record<FeedRoute, Members>> = {
  '/v1/counters': {
    operationId: 'postCounters',
    summary: 'Post counters as they stand',
    description:
      'Adds what the counters have more than at the post before: each key with what it is compared with, in one step, so that nothing counts twice. A value that has fallen tells of a reset at the source: then the whole value is added. In the first post of a new run it is all values, or, where the source kept its counters, what each has more than before. What a post is compared with stays when a key is deleted, made again or reset.',
    parameters: [
      ACK,
      ...(Object.keys(SAID) as readonly (keyof typeof SAID)[]).map((name) => query(name, SAID[name], {})),
    ],
    requestBody: { required: true, content: json(POSTED) },
    responses: {
      200: { description: 'Acknowledged.', content: json(POST_ACKNOWLEDGEMENT) },
      ...refusals(['ack', 'body', 'Content-Type', 'counters[…]', ...Object.keys(SAID)]),
      409: failure('A later run of the source has posted; nothing was counted.'),
      413: tooLarge(COUNTERS_BODY_LIMIT),
      503: { description: 'Counted but not durable: send it again.', content: json(POST_NOT_DURABLE) },
    },
  },
  '/v1/usage': {
    operationId: 'reportUsage',
    summary: 'Report usage',
    description:
      'Adds bytes and sets connections. A sum that would pass 2^64-1 stays there. Unknown keys are named in the answer and are no error for the others.',
    parameters: [ACK],
    requestBody: { required: true, content: json(REPORT) },
    responses: {
      200: { description: 'Acknowledged.', content: json(ACKNOWLEDGEMENT) },
      ...refusals(['ack', 'body', 'Content-Type', 'entries[…]', 'report_id']),
      413: tooLarge(),
      503: {
        description:
          'The report is counted but could not be made durable. With a `report_id`, send it again; without one, do not.',
        content: json(NOT_DURABLE),
      },
    },
  },
  '/v1/keys': {
    operationId: 'listKeys',
    summary: 'List whom to admit',
    description:
      'Without parameters, every key. With `since`, what changed after that version, or everything where it is not known any more. With `wait`, the answer is held back until it differs from what the caller has by `since` or `If-None-Match`. Usage alone is no change.',
    parameters: [
      query('since', Type.String(), { description: 'A `version` of an answer before.' }),
      query('wait', Type.Integer({ minimum: 0, maximum: MOST_WAIT, default: 0 }), {
        description: 'Seconds to wait at most; after 55 it is answered in any case, before a proxy gives up.',
      }),
      {
        name: 'If-None-Match',
        in: 'header',
        schema: { type: 'string' },
        description: 'Entity tags of answers before (RFC 9110, 13.1.2).',
      },
    ],
    responses: {
      200: {
        description: 'The keys, or the changes.',
        headers: {
          ETag: { required: true, schema: { type: 'string' }, description: 'The `version` in quotation marks.' },
        },
        content: json(KEYS),
      },
      304: { description: 'What the caller has by `If-None-Match` is current.' },
      ...refusals(['since', 'wait']),
      429: {
        ...failure('256 requests wait already.'),
        headers: { 'Retry-After': { required: true, schema: { type: 'integer' }, description: 'Seconds.' } },
      },
      ...AWAY,
    },
  },
  '/v1/admit': {
    operationId: 'admit',
    summary: 'Ask whether to admit a key',
    description: 'Allowed are registered keys whose bytes up and down together are below their limit.',
    requestBody: { required: true, content: json(Type.Object({ access_key: accessKey })) },
    responses: {
      200: { description: 'The decision.', content: json(ADMISSION) },
      ...refusals(['access_key', 'body', 'Content-Type']),
      ...AWAY,
      413: tooLarge(),
    },
  },
};

/** The OpenAPI 3.1 document of the feed. Print it with `encodeJson`. */
export function feedOpenApiDocument(): Encodable {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Keyway feed',
      version: '1',
      description:
        'Where the tunnel server reports usage and asks whom to admit. Integers are unsigned 64-bit: read them with a parser that keeps them exact. A path that is not here is a 404, another method a 405 with `Allow`; both have the body of the other errors.',
    },
    servers: [{ url: 'http://127.0.0.1:9091', description: 'As `--feed-bind` says.' }],
    // Over a Unix socket without a token, its permissions decide.
    security: [{ feedToken: [] }, {}],
    paths: new Map(FEED_PATHS.map((path) => [path, { [FEED_ROUTES[path].method.toLowerCase()]: OPERATIONS[path] }])),
    components: {
      securitySchemes: {
        feedToken: {
          type: 'http',
          scheme: 'bearer',
          description: 'The token of `--feed-token`. Only a feed on a Unix socket may have none.',
        },
      },
      schemas: { Error: jsonSchema(ERROR) },
    },
  };
}

function query(name: string, schema: TSchema, more: Members): Members {
  return { name, in: 'query', required: false, schema: jsonSchema(schema), ...more };
}

function refusals(places: readonly string[]): Members {
  return {
    400: failure(`Something is wrong with ${places.map((place) => `\`${place}\``).join(', ')}; nothing was done.`),
    401: {
      ...failure('The token is missing or wrong.'),
      headers: { 'WWW-Authenticate': { required: true, schema: { type: 'string' }, description: '`Bearer`.' } },
    },
  };
}

function tooLarge(limit: number = BODY_LIMIT): Members {
  return failure(`A body of more than ${limit} bytes.`);
}

function failure(description: string): Members {
  return { description, content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } };
}

function json(schema: TSchema): Members {
  return { 'application/json': { schema: jsonSchema(schema) } };
}
