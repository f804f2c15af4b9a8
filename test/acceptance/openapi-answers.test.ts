import { Check } from 'typebox/schema';
import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { resolveRevision } from '../../revisions/index.js';
import { stageScenario } from '../../src/embedded/stage.js';
import { playScenario } from '../../src/replay/play/play.js';
import { encodeJson } from '../../src/wire/json/encode.js';
import { openApiDocument } from '../../src/wire/openapi/openapi.js';
import type { Revision } from '../../src/wire/traits/revision.js';
import { foldersOf, type PackedScenario, scenariosOf } from './pack.js';

interface Described {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, { readonly content: Content }>>;
}

type Content = { readonly 'application/json': { readonly schema: object } };

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

/** An answer of the API, and to what. */
interface Answered {
  readonly at: string;
  readonly operation: string;
  readonly status: number;
  readonly text: string;
}

const FOLDERS = [
  ...['earliest', 'dns', 'current', 'lines'],
  ...foldersOf('recorded').flatMap((name) => (name === 'divergences' ? [] : [`recorded/${name}`])),
];
const ALL = FOLDERS.flatMap(scenariosOf);

/** The scenarios of a line; one that has next to none of its own answers those of the earliest in its way. */
function fixturesOf({ id }: Revision): readonly PackedScenario[] {
  const own = ALL.filter(({ scenario }) => {
    const resolved = resolveRevision(scenario.revision);
    return resolved.ok && resolved.revision.id === id;
  });
  return own.length > 10 ? own : [...own, ...scenariosOf('earliest')];
}

/** What an embedded core answers to the exchanges of a scenario that are operations of the API. */
async function answersTo(
  { file, scenario }: PackedScenario,
  id: string,
  operations: ReadonlySet<string>,
): Promise<Answered[]> {
  const staged = await stageScenario(scenario, id, { files: 'memory' });
  const answers: Answered[] = [];
  try {
    await playScenario(scenario, {
      ...staged,
      onStep({ step, exchange: { operation, request }, answer }) {
        if (answer === null || request.method === 'HEAD' || !operations.has(operation)) return;
        answers.push({ at: `${file} step ${step}`, operation, status: answer.status, text: answer.body.toString() });
      },
    });
    return answers;
  } finally {
    await staged.close();
  }
}

/** The schema with its references resolved, and objects that hold nothing but what it names where it names anything. */
function strict(schema: unknown, { components }: Document): object {
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== 'object' || value === null) return value;
    if ('$ref' in value) return walk(components.schemas[String(value.$ref).split('/').at(-1) ?? '']);
    const members = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, walk(member)]));
    return Object.keys(Object(members.properties)).length > 0 ? { ...members, additionalProperties: false } : members;
  };
  return Object(walk(schema));
}

/** One schema for all: refusals of credentials are the matter of the auth matrix, long bodies of bad-input.test.ts. */
const SAME_EVERYWHERE = / (?:401|413)$/;

/** No operation is asked where the path cannot be read (design: "A text with a lone surrogate"). */
const NO_OPERATION = 'the path is no UTF-8';

describe.each(REVISIONS)('the OpenAPI document of $id', (revision) => {
  const document = JSON.parse(encodeJson(openApiDocument(revision))) as Document;
  const described = new Map(
    Object.values(document.paths)
      .flatMap((methods) => Object.values(methods))
      .map(({ operationId, responses }) => [
        operationId,
        Object.fromEntries(
          Object.entries(responses).map(([status, { content }]) => [
            status,
            strict(content['application/json'].schema, document),
          ]),
        ),
      ]),
  );

  it('describes every answer to the fixtures of the line exactly, and none that they do not show', async () => {
    const answers: Answered[] = [];
    for (const packed of fixturesOf(revision))
      answers.push(...(await answersTo(packed, revision.id, new Set(described.keys()))));
    const undescribed = answers.filter(({ operation, status, text }) => {
      const schema = described.get(operation)?.[status];
      return schema === undefined || !Check(schema, JSON.parse(text));
    });
    expect(undescribed.filter(({ text }) => !text.includes(NO_OPERATION))).toEqual([]);
    const seen = new Set(answers.map(({ operation, status }) => `${operation} ${status}`));
    const all = [...described].flatMap(([operation, responses]) =>
      Object.keys(responses).map((status) => `${operation} ${status}`),
    );
    expect(all.filter((one) => !seen.has(one) && !SAME_EVERYWHERE.test(one))).toEqual([]);
  });
});
