import type { Failure } from '../errors.js';
import type { Encodable } from '../json/write-json.js';
import { type Operation, operationsOf } from '../operations.js';
import type { Revision } from '../traits/revision.js';
import { jsonSchema } from './json-schema.js';

type Members = { readonly [name: string]: Encodable };

/** The OpenAPI 3.1 document of a revision, made from the schemas that validate its bodies. Print it with `encodeJson`. */
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
            variables: { webpath: { default: 'panel', description: 'The configured web path.' } },
          }
        : { url: 'http://127.0.0.1:9090/api' },
    ],
    paths,
    components: {
      securitySchemes: {
        authorization: {
          type: 'http',
          scheme: 'bearer',
          description: `Access by ${revision.auth.name}. Without ${revision.auth.closedBy} configured the protected operations are open.`,
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
  const hasKey = operation.path.includes('{key}');
  return {
    operationId: operation.name,
    summary: operation.summary,
    description: operation.description,
    ...(hasKey ? { parameters: [KEY_PARAMETER] } : {}),
    // An empty list says that none is needed, where leaving it out would say nothing.
    security: operation.access === 'protected' ? [{ authorization: [] }] : [],
    ...requestBody(operation, revision),
    responses: {
      200: {
        description: 'Success.',
        content: json({
          type: 'object',
          required: ['ok', 'data'],
          properties: { ok: { const: true }, data: jsonSchema(operation.answer(revision)) },
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

function failures(operation: Operation, { errors }: Revision): Members {
  const takesBody = operation.body.kind !== 'none';
  const words = new Map<number, readonly string[]>();
  const say = (status: number, ...texts: readonly string[]) =>
    words.set(status, [...(words.get(status) ?? []), ...texts]);
  if (operation.access === 'protected') say(errors.unauthorized.status, quoted(errors.unauthorized));
  for (const name of operation.failures) say(errors[name].status, quoted(errors[name]));
  if (takesBody) {
    say(errors.invalidBody.status, 'a text that names the member and what was expected there');
    say(errors.bodyTooLarge.status, `A body of more than ${operation.bodyLimit} bytes.`);
  }
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
