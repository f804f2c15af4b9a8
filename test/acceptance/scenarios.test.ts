import { basename } from 'node:path';
import { Check } from 'typebox/schema';
import { describe, expect, it, test } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { resolveRevision } from '../../revisions/index.js';
import { formatScenario } from '../../src/lab/format/format.js';
import { differenceInWords } from '../../src/lab/format/json-difference.js';
import { divergenceProblems, type PlayedScenario, readDivergences } from '../../src/lab/play/divergences.js';
import { type PlayedFile, type PlayedStep, playScenario } from '../../src/lab/play/play.js';
import { ownOpenApiDocument } from '../../src/own-api/openapi.js';
import { encodeJson } from '../../src/wire/json/write-json.js';
import { openApiDocument } from '../../src/wire/openapi/openapi.js';
import { capabilitiesOf, type Revision } from '../../src/wire/traits/revision.js';
import { someOf } from '../whole.js';
import { foldersOf, type PackedScenario, readFixture, scenariosOf } from './pack.js';
import { PATIENT, stageScenario } from './stage.js';

const NAMED: readonly string[] = ['earliest', 'dns', 'current'];
/** The interface that stands beside every revision. */
const OWN = 'v1';
const WRITTEN = [...NAMED, OWN].map((folder) => ({ folder, scenarios: scenariosOf(folder) }));
/** What servers are known to answer, each folder with its register of where Keyway answers otherwise. */
const REGISTERED = [
  { folder: 'lines', registerFile: 'divergences/lines.json' },
  ...foldersOf('recorded')
    .filter((name) => name !== 'divergences')
    .map((name) => ({ folder: `recorded/${name}`, registerFile: `recorded/divergences/${name}.json` })),
].map((each) => ({ ...each, scenarios: scenariosOf(each.folder) }));
const ALL = [...WRITTEN, ...REGISTERED].flatMap(({ scenarios }) => scenarios);
/** The recorded ones whose file stands on the disk when they are played on their own revision; memory-files.test.ts shows that memory answers alike. */
const ON_DISK = new Set(
  someOf(
    ALL.filter(({ scenario }) => scenario.source === 'recorded'),
    40,
  ),
);

const played = new Map<string, Promise<PlayedScenario>>();

/** Plays a scenario on an embedded core of a revision, once for all that is asked of it. */
function playOnce(packed: PackedScenario, revision = packed.scenario.revision): Promise<PlayedScenario> {
  const { file, scenario } = packed;
  const id = `${revision} ${file}`;
  const files = revision === scenario.revision && ON_DISK.has(packed) ? 'disk' : 'memory';
  const known = played.get(id) ?? play(scenario, revision, files);
  played.set(id, known);
  return known;
}

async function play(
  scenario: PackedScenario['scenario'],
  revision: string,
  files: 'disk' | 'memory',
): Promise<PlayedScenario> {
  const staged = await stageScenario(scenario, revision, { files });
  try {
    const steps: PlayedStep[] = [];
    let file: PlayedFile | null = null;
    const onStep = (step: PlayedStep) => steps.push(step);
    const onFile = (afterwards: PlayedFile) => {
      file = afterwards;
    };
    return { differences: await playScenario(scenario, { ...staged, ...PATIENT, onStep, onFile }), steps, file };
  } finally {
    await staged.close();
  }
}

describe.each(WRITTEN)('a written scenario of $folder', ({ scenarios }) => {
  test.concurrent.each(scenarios)('$name: $scenario.title', async (packed) => {
    const { differences } = await playOnce(packed);
    expect(differences.map((each) => `step ${each.step}: ${differenceInWords(each)}`)).toEqual([]);
  });
});

describe.each([
  ...WRITTEN.map((each) => ({ ...each, source: 'spec' })),
  ...REGISTERED.filter(({ folder }) => folder === 'lines').map((each) => ({ ...each, source: 'facts' })),
])('a scenario of $folder, written by hand', ({ source, scenarios }) => {
  test.each(scenarios)('$name is formatted as its file says', ({ content, scenario }) => {
    expect(formatScenario(scenario)).toBe(content);
    expect(scenario.source).toBe(source);
  });
});

describe.each(REGISTERED)('a scenario of $folder', ({ folder, registerFile, scenarios }) => {
  const register = readDivergences(readFixture(registerFile), registerFile);

  test.concurrent.each(
    scenarios,
  )('$name: answers and file are those of the server, less the register', async (packed) => {
    expect(divergenceProblems(register, packed.name, packed.scenario, await playOnce(packed))).toEqual([]);
  });

  test('the register names no scenario that is not there', () => {
    const names = scenarios.map(({ name }) => name);
    expect(Object.keys(register.scenarios).filter((name) => !names.includes(name))).toEqual([]);
    expect(register.version).toBe(basename(folder));
  });
});

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

/** The scenarios of a line; one of which facts alone are known answers those of the named revision nearest to it, too. */
function fixturesOf(revision: Revision): readonly PackedScenario[] {
  const own = ALL.filter((packed) => isOf(packed, revision.id));
  const isWhole = own.some(({ scenario }) => scenario.source !== 'facts');
  return isWhole ? own : [...own, ...scenariosOf(nearestTo(revision))];
}

/** Of the revisions with a folder of scenarios, the one that has most capabilities in common and fewest others. */
function nearestTo(revision: Revision): string {
  const capabilities = new Set(capabilitiesOf(revision));
  const nearness = (other: Revision) =>
    capabilitiesOf(other).reduce((sum, each) => sum + (capabilities.has(each) ? 1 : -1), 0);
  const named = REVISIONS.filter(({ id }) => NAMED.includes(id));
  return named.reduce((best, each) => (nearness(each) > nearness(best) ? each : best)).id;
}

function isOf({ scenario }: PackedScenario, id: string): boolean {
  const resolved = resolveRevision(scenario.revision);
  return resolved.ok && resolved.revision.id === id;
}

/** The answers of an embedded core to the exchanges of a scenario that are operations of the API. */
async function answersTo(
  packed: PackedScenario,
  { id }: Revision,
  operations: ReadonlySet<string>,
): Promise<readonly Answered[]> {
  const { steps } = await playOnce(packed, isOf(packed, id) ? packed.scenario.revision : id);
  return steps.flatMap(({ step, exchange: { operation, request }, answer }) =>
    answer === null || request.method === 'HEAD' || !operations.has(operation)
      ? []
      : [{ at: `${packed.file} step ${step}`, operation, status: answer.status, text: answer.body.toString() }],
  );
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

/**
 * One schema for all: refusals of credentials are the matter of the auth matrix and of login-guard.test.ts, entity tags, which no server has, of
 * northbound/rules.test.ts, long bodies of bad-input.test.ts.
 */
const SAME_EVERYWHERE = / (?:401|412|413|429)$/;

/** No operation is asked where the path cannot be read (design: "A body with another content type"). */
const NO_OPERATION = 'the path is no UTF-8';

/** The strict schemas of the answers that a document describes, by operation and status. */
function describedBy(printed: string): ReadonlyMap<string, Readonly<Record<string, object>>> {
  const document = JSON.parse(printed) as Document;
  return new Map(
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
}

describe.each(REVISIONS)('the OpenAPI document of $id', (revision) => {
  const described = describedBy(encodeJson(openApiDocument(revision)));

  it('describes every answer to the fixtures of the line exactly, and none that they do not show', async () => {
    const answers: Answered[] = [];
    for (const packed of fixturesOf(revision))
      answers.push(...(await answersTo(packed, revision, new Set(described.keys()))));
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

describe("the OpenAPI document of Keyway's own interface", () => {
  const described = describedBy(encodeJson(ownOpenApiDocument('1.0.0')));

  it.each(scenariosOf(OWN))('describes every answer to $name', async (packed) => {
    const { steps } = await playOnce(packed);
    const answers = steps.filter(({ exchange }) => exchange.request.root === 'v1');
    const undescribed = answers.filter(({ exchange: { operation }, answer }) => {
      const name = operation.slice(`${OWN}.`.length);
      const schema = described.get(name)?.[answer?.status ?? 0];
      return schema === undefined || !Check(schema, JSON.parse(`${answer?.body}`));
    });
    expect(
      undescribed.map(({ exchange, answer }) => `${exchange.operation} ${answer?.status} ${answer?.body}`),
    ).toEqual([]);
    expect(answers).not.toEqual([]);
  });
});
