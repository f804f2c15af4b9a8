import { Check } from 'typebox/schema';
import { describe, expect, it } from 'vitest';
import { ownOpenApiDocument } from '../../src/own-api/openapi.js';
import { OWN_OPERATIONS } from '../../src/own-api/operations.js';
import { encodeJson } from '../../src/wire/json/write-json.js';
import { runHere } from '../commands/context.js';
import { ownStage } from './stage.js';

const document = JSON.parse(encodeJson(ownOpenApiDocument('1.2.3')));

describe("the OpenAPI document of Keyway's own interface", () => {
  it('describes every call with its method, path and answers', () => {
    const described = Object.entries(document.paths as Record<string, Record<string, { operationId: string }>>).flatMap(
      ([path, methods]) =>
        Object.entries(methods).map(([method, { operationId }]) => `${operationId} ${method.toUpperCase()} ${path}`),
    );
    expect(described.sort()).toEqual(
      OWN_OPERATIONS.map(({ name, method, path }) => `${name} ${method} ${path}`).sort(),
    );
    expect(document).toMatchObject({ openapi: '3.1.0', info: { version: '1.2.3' } });
  });

  it('names every parameter of a path', () => {
    for (const { name, path, method } of OWN_OPERATIONS) {
      const { parameters = [] } = document.paths[path][method.toLowerCase()];
      const named = parameters
        .filter((each: { in: string }) => each.in === 'path')
        .map((each: { name: string }) => each.name);
      expect(named, name).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, part]) => part));
    }
  });

  it('describes what is answered', async () => {
    const { app, call } = await ownStage();
    await app.keyway.core.createUser({ accessKey: 'a', name: 'Anna' });
    const schema = document.paths['/keys/{key}'].get.responses[200].content['application/json'].schema;
    const { body } = await call('GET /keys/a');
    expect(Check(schema, JSON.parse(encodeJson(body as never)))).toBe(true);
  });

  it('describes the refusal of a query that a call does not have', async () => {
    const { call } = await ownStage();
    for (const { name, path, method } of OWN_OPERATIONS) {
      const { status, body } = await call(`${method} ${path.replaceAll(/\{\w+\}/g, 'a')}?none=1`, { body: {} });
      const told = document.paths[path][method.toLowerCase()].responses[status]?.description;
      expect(told, name).toContain(`\`${Object(body).code}\``);
    }
  });

  it('is what keyway openapi v1 prints', async () => {
    const printed = await runHere(['openapi', 'v1']);
    expect(printed.code).toBe(0);
    expect(JSON.parse(printed.output).paths).toEqual(document.paths);
    expect((await runHere(['openapi', 'v1', '--feed'])).code).toBe(2);
    expect((await runHere(['openapi', 'v2'])).code).toBe(2);
  });
});
