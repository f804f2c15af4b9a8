import type { Encodable } from '../wire/json/write-json.js';
import { jsonSchema } from '../wire/openapi/json-schema.js';
import { failureRow, type OwnErrorCode, wireCode } from './errors.js';
import type { QueryMember } from './operation.js';
import { OWN_OPERATIONS, type OwnOperation } from './operations.js';

type Members = { readonly [name: string]: Encodable };

/** The OpenAPI 3.1 document of Keyway's own interface, made from the rows that serve it. Print it with `encodeJson`. */
export function ownOpenApiDocument(version: string): Encodable {
  const paths = new Map<string, Members>();
  for (const operation of OWN_OPERATIONS) {
    const methods = paths.get(operation.path) ?? {};
    paths.set(operation.path, { ...methods, [operation.method.toLowerCase()]: describe(operation) });
  }
  return {
    openapi: '3.1.0',
    info: {
      title: "Keyway's own interface, version 1",
      version,
      description:
        'Served beside every mount, with its credentials or a named token, never without one. Every answer is an envelope: `ok`, and `data` on success or `error` and `code` on failure. Integers are unsigned 64-bit: read them with a parser that keeps them exact.',
    },
    servers: [
      {
        url: 'http://127.0.0.1:9090/{webpath}/keyway/v1',
        description: '`webpath` is the web path of a mount.',
        variables: { webpath: { default: 'panel' } },
      },
    ],
    security: [{ authorization: [] }],
    paths,
    components: {
      securitySchemes: {
        authorization: {
          type: 'http',
          scheme: 'bearer',
          description: "A named token, or what the mount's own API takes: its static token, or the token of a session.",
        },
      },
      schemas: { Failure: FAILURE },
    },
  };
}

const FAILURE: Members = {
  type: 'object',
  required: ['ok', 'error', 'code'],
  properties: {
    ok: { const: false },
    error: { type: 'string', description: 'What went wrong.' },
    code: { type: 'string', description: 'The name of the failure.' },
    differs: {
      type: ['array', 'null'],
      items: { type: 'string' },
      description:
        'Of `precondition_failed` alone: JSON Pointers of the places that differ; null where that is not known.',
    },
  },
};

/** Failures of every call, and those of every call with a body. */
const COMMON: readonly OwnErrorCode[] = [
  'invalidQuery',
  'unauthorized',
  'notPermitted',
  'backendAway',
  'internalError',
];
const OF_BODIES: readonly OwnErrorCode[] = ['invalidBody', 'notJson', 'bodyTooLarge', 'bodyTooSlow'];

function describe(operation: OwnOperation): Members {
  const { name, access, summary, description, answer, statuses = [200] } = operation;
  const presets = ['all', ...access].map((preset) => `\`${preset}\``).join(', ');
  const parameters = parametersOf(operation);
  const success = {
    description: 'Success.',
    content: json({
      type: 'object',
      required: ['ok', 'data'],
      properties: { ok: { const: true }, data: jsonSchema(answer) },
    }),
  };
  return {
    operationId: name,
    summary,
    description: `${description} Tokens that may ${presets} get in.`,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...requestBody(operation),
    responses: { ...Object.fromEntries(statuses.map((status) => [status, success])), ...failures(operation) },
  };
}

function parametersOf({ path, query = {}, headers = {} }: OwnOperation): readonly Members[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', minLength: 1 },
    description: 'Percent-encoded: any character may occur in it.',
  }));
  const inQuery = Object.entries(query).map(([name, member]) => ({
    name,
    in: 'query',
    required: false,
    schema: querySchema(member),
    description: member.description,
  }));
  const inHead = Object.entries(headers).map(([name, description]) => ({
    name,
    in: 'header',
    required: false,
    schema: { type: 'string' },
    description,
  }));
  return [...inPath, ...inQuery, ...inHead];
}

function querySchema(member: QueryMember): Members {
  return member.kind === 'text' ? { type: 'string' } : { type: 'integer', minimum: member.least, maximum: member.most };
}

function requestBody({ body }: OwnOperation): Members {
  if (body === undefined) return {};
  const { schema, described = schema, types = ['application/json'] } = body;
  const content = Object.fromEntries(types.map((type) => [type, { schema: jsonSchema(described) }]));
  return { requestBody: { required: true, content } };
}

function failures({ body, failures: own }: OwnOperation): Members {
  const codes = [...COMMON, ...(body === undefined ? [] : OF_BODIES), ...own];
  const words = new Map<number, readonly string[]>();
  for (const code of new Set(codes)) {
    const { status, text } = failureRow(code);
    const said = text === '' ? `\`${wireCode(code)}\`` : `\`${wireCode(code)}\`: ${text}`;
    words.set(status, [...(words.get(status) ?? []), said]);
  }
  const failure = (description: string): Members => ({
    description,
    content: json({ $ref: '#/components/schemas/Failure' }),
  });
  return Object.fromEntries([...words].map(([status, texts]) => [status, failure(texts.join('; '))]));
}

function json(schema: Encodable): Members {
  return { 'application/json': { schema } };
}
