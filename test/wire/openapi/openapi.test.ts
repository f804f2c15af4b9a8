import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../../revisions/all.js';
import { encodeJson } from '../../../src/wire/json/write-json.js';
import { openApiDocument } from '../../../src/wire/openapi/openapi.js';
import { accessOf, operationsOf } from '../../../src/wire/operations.js';

interface Described {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly requestBody?: unknown;
  readonly responses: Readonly<Record<string, unknown>>;
}

interface Document {
  readonly openapi: string;
  readonly servers: readonly { readonly variables?: Readonly<Record<string, unknown>> }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly securitySchemes: Readonly<Record<string, unknown>> };
}

function members(value: unknown): [string, unknown][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]): [string, unknown][] => [[name, member], ...members(member)]);
}

/** The names of the members of every object schema in a value. */
function propertiesIn(value: unknown): { readonly names: readonly string[] }[] {
  return members(value)
    .filter(([name]) => name === 'properties')
    .map(([, properties]) => ({ names: Object.keys(properties ?? {}) }));
}

describe.each(REVISIONS)('the OpenAPI document of $id', (revision) => {
  const text = encodeJson(openApiDocument(revision));
  const document = JSON.parse(text) as Document;

  it('describes exactly the operations that the revision serves', () => {
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => `${operationId} ${method.toUpperCase()} ${path}`),
    );
    const served = operationsOf(revision).map(({ name, method, path }) => `${name} ${method} ${path}`);
    expect(described.sort()).toEqual(served.sort());
  });

  it('describes a server and not its variables, for validators that know no description of these', () => {
    for (const { variables = {} } of document.servers)
      for (const variable of Object.values(variables)) expect(variable).toEqual({ default: 'panel' });
  });

  it('gives each a summary and a description of its own, and a 401 where a credential is needed', () => {
    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
    for (const operation of operations) {
      if (operation.security.length > 0) expect(Object.keys(operation.responses)).toContain('401');
    }
    const texts = operations.flatMap(({ summary, description }) => [summary, description]);
    expect(texts.filter((text, index) => text.trim() === '' || texts.indexOf(text) !== index)).toEqual([]);
  });

  it('gives settings with an entity tag a 412, and its header', () => {
    const served = operationsOf(revision);
    const tagged = served.filter(({ hasTag }) => hasTag === true);
    expect(tagged).toEqual(served.filter(({ name }) => /^(get|put)(Rules|DnsConfig)$/.test(name)));
    for (const { path, method, effect } of tagged) {
      const { responses, parameters } = Object(document.paths[path]?.[method.toLowerCase()]);
      if (effect.kind === 'reads') expect(responses['200'].headers).toHaveProperty('ETag');
      else {
        expect(parameters).toContainEqual(expect.objectContaining({ in: 'header', name: 'If-Match' }));
        expect(Object.keys(responses)).toContain('412');
      }
    }
  });

  it('says of each which credential it needs, and defines every kind that it names', () => {
    const defined = Object.keys(document.components.securitySchemes);
    const served = operationsOf(revision);
    for (const operation of Object.values(document.paths).flatMap((methods) => Object.values(methods))) {
      const row = served.find(({ name }) => name === operation.operationId);
      const access = row && accessOf(row, revision);
      const named = operation.security.flatMap((one) => Object.keys(one));
      expect(named.length > 0).toBe(access === 'protected');
      expect(named.filter((name) => !defined.includes(name))).toEqual([]);
    }
  });

  it('gives each that takes a body the 400 for a wrong one and the 413 for one that is too long', () => {
    for (const { name, body, bodyLimit, method, path } of operationsOf(revision)) {
      if (body.kind === 'none') continue;
      const responses = document.paths[path]?.[method.toLowerCase()]?.responses ?? {};
      expect([name, Object.keys(responses)]).toEqual([name, expect.arrayContaining(['400', '413'])]);
      expect(JSON.stringify(responses['413'])).toContain(`${bodyLimit} bytes`);
    }
  });

  it('calls 64-bit integers integers, their bounds exact, and holds nothing but JSON Schema', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(text).toContain('18446744073709551615');
    const all = members(document);
    expect(all.filter(([name]) => name === 'expected')).toEqual([]);
    const types = all.filter(([name, value]) => name === 'type' && typeof value === 'string').map(([, value]) => value);
    const known = ['object', 'array', 'string', 'integer', 'number', 'boolean', 'null', 'http'];
    expect(types.filter((type) => !known.includes(String(type)))).toEqual([]);
  });

  it('offers for a rule and a snapshot exactly the members that the revision writes', () => {
    const { snapshot, capabilities } = revision;
    const get = document.paths['/users/{key}']?.get?.responses['200'];
    expect(propertiesIn(get).map(({ names }) => names)).toContainEqual(snapshot.members.map(({ name }) => name));
    if (capabilities.rules === undefined) return;
    const rule = { domainSuffix: [], ipCidr: [], protocol: null, action: 'direct' } as const;
    const written = Object.keys(JSON.parse(encodeJson(capabilities.rules.form.encode(rule))));
    const { get: read, put } = document.paths['/router/rules'] ?? {};
    for (const schema of [read?.responses['200'], put?.requestBody])
      expect(propertiesIn(schema).map(({ names }) => names)).toContainEqual(written);
  });

  it('refers to nothing that it does not hold', () => {
    const references = members(document).filter(([name]) => name === '$ref');
    expect(new Set(references.map(([, target]) => target))).toEqual(new Set(['#/components/schemas/Failure']));
  });
});
