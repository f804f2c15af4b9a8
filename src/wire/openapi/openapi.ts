import type { Failure } from '../errors.js';
import type { Encodable } from '../json/write-json.js';
import { accessOf, type Operation, operationsOf } from '../operations.js';
import { mayBeOpen } from '../traits/auth.js';
import type { Revision } from '../traits/revision.js';
import { jsonSchema } from './json-schema.js';

type Members = { readonly [name: string]: Encodable };

/**
 * Returns the OpenAPI 3.1 document of a revision, made from the schemas that validate its bodies. Print it with
 * `encodeJson`.
 */
export function openApiDocument(revision: Revision): Encodable {
  const paths = new Map<string, Members>();
  for (const operation of operationsOf(revision)) {
    const methods = paths.get(operation.path) ?? {};
    paths.set(operation.path, { ...methods, [operation.method.toLowerCase()]: describe(operation, revision) });
  }
  return {
    openapi: '3.1.0',
    info: {
      title: `Access-key server management API, revision ${revision.id}`,
      version: revision.reportedVersion,
      description: `Spoken by server packages ${revision.from} to ${revision.to ?? 'the latest'}. ${AUTH_NOTE(revision)} Every answer is an envelope: \`ok\`, and \`data\` on success or \`error\` on failure. Integers are unsigned 64-bit: read them with a parser that keeps them exact.`,
    },
    servers: [
      revision.root.usesWebpath
        ? {
            url: 'http://127.0.0.1:9090/{webpath}/api',
            description: '`webpath` is the configured web path.',
            variables: { webpath: { default: 'panel' } },
          }
        : { url: 'http://127.0.0.1:9090/api' },
    ],
    paths,
    components: {
      securitySchemes: {
        authorization: {
          type: 'http',
          scheme: 'bearer',
          description: `Access by ${revision.auth.name}. Without ${revision.auth.closedBy} configured ${mayBeOpen(revision.auth) ? 'the protected operations are open' : 'there is no API'}.`,
        },
      },
      schemas: { Failure: FAILURE },
    },
  };
}

const AUTH_NOTE = (revision: Revision) => `Protected operations take a ${revision.auth.name} in \`Authorization\`.`;

const FAILURE: Members = {
  type: 'object',
  required: ['ok', 'error'],
  properties: { ok: { const: false }, error: { type: 'string', description: 'What went wrong.' } },
};

function describe(operation: Operation, revision: Revision): Members {
  const parameters = parametersOf(operation);
  const additional = Object.fromEntries(
    Object.entries(operation.beside?.(revision) ?? {}).map(([name, schema]) => [name, jsonSchema(schema)]),
  );
  return {
    operationId: operation.name,
    summary: operation.summary,
    description: operation.description,
    ...(parameters.length > 0 && { parameters }),
    // An empty list says that no credential is needed; leaving it out would say nothing.
    security: accessOf(operation, revision) === 'protected' ? [{ authorization: [] }] : [],
    ...requestBody(operation, revision),
    responses: {
      200: {
        description: 'Success.',
        ...(operation.hasTag === true && operation.effect.kind === 'reads' && { headers: { ETag: TAG } }),
        content: json({
          type: 'object',
          required: ['ok', 'data', ...Object.keys(additional)],
          properties: { ok: { const: true }, data: jsonSchema(operation.answer(revision)), ...additional },
        }),
      },
      ...failures(operation, revision),
    },
  };
}

const KEY_PARAMETER: Members = {
  name: 'key',
  in: 'path',
  required: true,
  schema: { type: 'string' },
  description: 'The access key, percent-encoded: any character may occur in it.',
};

const TAG: Members = { schema: { type: 'string' }, description: 'Names these settings for `If-Match`.' };

const CONDITION: Members = {
  name: 'If-Match',
  in: 'header',
  required: false,
  schema: { type: 'string' },
  description: 'The `ETag` of the settings that are to be replaced; without it any are.',
};

/** Tells whether a request may say which settings it is meant for. */
function hasCondition({ hasTag, effect }: Operation): boolean {
  return hasTag === true && effect.kind !== 'reads';
}

function parametersOf(operation: Operation): readonly Members[] {
  const { path, query = {} } = operation;
  const inQuery = Object.entries(query).map(([name, schema]) => ({
    name,
    in: 'query',
    required: false,
    schema: jsonSchema(schema),
  }));
  return [
    ...(path.includes('{key}') ? [KEY_PARAMETER] : []),
    ...inQuery,
    ...(hasCondition(operation) ? [CONDITION] : []),
  ];
}

const WHOLE_CONFIG: Members = {
  type: 'object',
  required: ['mode'],
  description: 'The whole configuration; any further members.',
};

function requestBody(operation: Operation, revision: Revision): Members {
  const { body } = operation;
  if (body.kind === 'none') return {};
  const schema = body.kind === 'json' ? jsonSchema(body.schema(revision)) : WHOLE_CONFIG;
  return { requestBody: { required: true, content: json(schema) } };
}

function failures(operation: Operation, revision: Revision): Members {
  const { errors } = revision;
  const takesBody = operation.body.kind !== 'none';
  const takesQuery = operation.query !== undefined;
  const words = new Map<number, readonly string[]>();
  const say = (status: number, ...texts: readonly string[]) =>
    words.set(status, [...(words.get(status) ?? []), ...texts]);
  if (operation.subject === 'session' && errors.tooManyLogins.status !== errors.unauthorized.status)
    say(errors.tooManyLogins.status, quoted(errors.tooManyLogins));
  if (accessOf(operation, revision) === 'protected') say(errors.unauthorized.status, quoted(errors.unauthorized));
  for (const name of operation.failures) say(errors[name].status, quoted(errors[name]));
  if (hasCondition(operation)) say(errors.preconditionFailed.status, quoted(errors.preconditionFailed));
  if (takesBody || takesQuery)
    say(errors.invalidBody.status, 'a text that names the member and what was expected there');
  if (takesBody) say(errors.bodyTooLarge.status, `A body of more than ${operation.bodyLimit} bytes.`);
  return Object.fromEntries([...words].map(([status, texts]) => [status, failure(texts.join('; '))]));
}

function quoted({ text, withDetail }: Failure): string {
  return `\`${text}${withDetail === true ? '…' : ''}\``;
}

function failure(description: string): Members {
  return { description, content: json({ $ref: '#/components/schemas/Failure' }) };
}

function json(schema: Encodable): Members {
  return { 'application/json': { schema } };
}
