import type { Static, TSchema } from 'typebox';
import { OWN_OPERATIONS } from '../../own-api/operations.js';
import { type JsonObject, JsonSyntaxError, type JsonValue, parseJson } from '../../wire/json/json.js';
import { OPERATIONS } from '../../wire/operations.js';
import { didYouMean } from '../../wire/suggest.js';
import { Type } from '../../wire/typebox.js';
import { PLACEHOLDER_KINDS } from './placeholder-forms.js';
import {
  ANYTHING,
  INTEGER,
  listOf,
  mapOf,
  object,
  oneOf,
  type Place,
  ShapeError,
  shaped,
  smallInteger,
  TEXT,
  TRUE,
} from './shape.js';

/** Values of traffic counters; unsigned 64-bit. */
const COUNTER_STATE = object({ access_key: TEXT, bytes_up: INTEGER, bytes_down: INTEGER, connections: INTEGER });
export type CounterState = Static<typeof COUNTER_STATE>;
const COUNTERS = listOf(COUNTER_STATE);

const REQUEST = object({
  method: Type.String({ pattern: /^[A-Z]+$/, expected: 'a method in capitals' }),
  // Visible ASCII without blanks, as in a request line; sent unchanged, after its root.
  path: Type.String({ pattern: /^[\x21-\x7e]*$/, expected: 'a path in visible ASCII characters' }),
  /**
   * The root of the path: the API root (the default), the panel's `{base}`, the server itself, or Keyway's own
   * interface.
   */
  root: Type.Optional(oneOf('api', 'base', 'server', 'v1')),
  headers: Type.Optional(mapOf(TEXT)),
  /** Sent as JSON. */
  body: Type.Optional(ANYTHING),
  /** Sent as these bytes. */
  text: Type.Optional(TEXT),
});
export type ScenarioRequest = Static<typeof REQUEST>;
export type PathRoot = NonNullable<ScenarioRequest['root']>;

/** A response in a scenario's form, also used in a register of divergences. */
export const RESPONSE = object({
  status: smallInteger(100, 599),
  /** By default a `body` is `application/json`, and no other header is compared. */
  headers: Type.Optional(mapOf(TEXT)),
  body: Type.Optional(ANYTHING),
  text: Type.Optional(TEXT),
  /** JSON pointers of arrays whose order is not part of the answer. */
  unordered: Type.Optional(listOf(TEXT)),
});
export type ScenarioResponse = Static<typeof RESPONSE>;

/** Kinds of requests that are no operations: a preflight or cross-origin call, a panel's path, an unknown one. */
const OTHER_REQUESTS = ['cors', 'panel', 'unmatched'];

const OPERATION = Type.String({
  enum: [...OPERATIONS.map(({ name }) => name), ...OWN_OPERATIONS.map(({ name }) => `v1.${name}`), ...OTHER_REQUESTS],
  expected: `an operation of the API, of Keyway's own interface (v1.…), or ${OTHER_REQUESTS.join(', ')}`,
});

/** The steps, by the member that distinguishes them. */
const STEPS = {
  operation: object({ operation: OPERATION, request: REQUEST, response: RESPONSE }),
  /** The counters have these values from here on. */
  counters: object({ counters: COUNTERS }),
  /** The file is edited by hand, and the server is given time to notice. */
  handEdit: object({ handEdit: TEXT }),
  /** Time passes until the server has noticed what happened to its file. */
  settle: object({ settle: TRUE }),
  /** The file becomes unusable: removed, or replaced by a folder. */
  breakFile: object({ breakFile: oneOf('the file is gone', 'a folder stands where the file was') }),
};
export type Exchange = Static<typeof STEPS.operation>;
export type Breakage = Static<typeof STEPS.breakFile>['breakFile'];
export type Step = Static<(typeof STEPS)[keyof typeof STEPS]>;

/** A file as a JSON value or as lines, which may contain comments. */
const FILE = { config: Type.Optional(ANYTHING), configText: Type.Optional(listOf(TEXT)) };
const NOT_BOTH = {
  not: { required: ['config', 'configText'] },
  expected: 'an object with either config or configText, not both',
};

const LISTENER = object({
  token: Type.Optional(TEXT),
  webpath: Type.Optional(TEXT),
  username: Type.Optional(TEXT),
  password_hash: Type.Optional(TEXT),
});
export type GivenListener = Static<typeof LISTENER>;

/** The texts and the port that the server announces to its clients. */
const SERVER = object({ host: TEXT, port: smallInteger(0, 65535), shareScheme: TEXT, shareQuery: TEXT });
export type GivenServer = Static<typeof SERVER>;

/** The state before the first step. Without `config` and `configText` the server runs without a file. */
const GIVEN = object(
  {
    ...FILE,
    counters: Type.Optional(COUNTERS),
    /** Listener fields without a file, or overriding it. */
    listener: Type.Optional(LISTENER),
    server: Type.Optional(SERVER),
  },
  NOT_BOTH,
);
export type Given = Static<typeof GIVEN>;

/** The configuration file after the last step; with `bytes` compared byte for byte, otherwise as a JSON value. */
const AFTERWARDS = object({ ...FILE, compare: Type.Optional(oneOf('bytes')) }, NOT_BOTH);
export type FileAfterwards = Static<typeof AFTERWARDS>;

const SCENARIO = object({
  /** The path of the JSON Schema of this format, for editors. */
  $schema: Type.Optional(TEXT),
  title: TEXT,
  /** A revision's id or a server package version. */
  revision: TEXT,
  /**
   * `spec`: written by hand from the specification; `facts`: from other knowledge about the servers of a line;
   * `recorded`: a real server's answers, never edited by hand.
   */
  source: oneOf('spec', 'facts', 'recorded'),
  /** The sections of the facts that `facts` is based on. */
  facts: Type.Optional(listOf(TEXT)),
  given: GIVEN,
  exchanges: listOf(mapOf(ANYTHING)),
  serverVersion: Type.Optional(TEXT),
  /** `YYYY-MM-DD`. */
  recordedAt: Type.Optional(TEXT),
  /** True for a recording whose access keys became placeholders: `<key:n>` then matches any text. */
  anonymous: Type.Optional(TRUE),
  /** Rows of the specification that this scenario demonstrates, such as `error:userNotFound`. */
  covers: Type.Optional(listOf(TEXT)),
  // biome-ignore lint/suspicious/noThenProperty: the format's own name; its value is no function, so nothing awaits it
  then: Type.Optional(AFTERWARDS),
});

/** A chain of exchanges with a server in a given state (fixtures/README.md). */
export interface Scenario extends Omit<Static<typeof SCENARIO>, 'exchanges'> {
  readonly exchanges: readonly Step[];
}

/** Parses JSON text with exact integers; a syntax error names the file. */
export function readFixtureJson(content: string, file: string): JsonValue {
  try {
    return parseJson(Buffer.from(content, 'utf8'));
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw new ShapeError({ file, path: '' }, `JSON: ${error.message}`);
    throw error;
  }
}

/** Reads one scenario file. Throws `ShapeError`, which names the file, the JSON path and what was expected there. */
export function readScenario(content: string, file: string): Scenario {
  const scenario = shaped(SCENARIO, readFixtureJson(content, file), { file, path: '' });
  const steps = scenario.exchanges.map((step, index) => stepOf(step, { file, path: `/exchanges/${index}` }));
  if (scenario.source !== 'recorded') checkPlaceholders(steps, file);
  return { ...scenario, exchanges: steps };
}

/** Returns the schema of a whole scenario file. */
export function scenarioSchema(): TSchema {
  const exchanges = listOf(Type.Union(Object.values(STEPS)));
  return Type.Object({ ...SCENARIO.properties, exchanges }, { additionalProperties: false });
}

const NUMBERED = /<([a-z-]+):(\d+)>/g;

/**
 * Checks that each numbered placeholder in a request of a hand-written scenario occurs in an answer of an earlier step.
 * Recordings contain values of their own, which the run replaces. Throws `ShapeError`.
 */
function checkPlaceholders(steps: readonly Step[], file: string): void {
  const told = new Set<string>();
  for (const [index, step] of steps.entries()) {
    if (!isExchange(step)) continue;
    for (const [member, value] of Object.entries(step.request)) {
      const place = { file, path: `/exchanges/${index}/request/${member}` };
      for (const [whole, kind = ''] of textOf(value).matchAll(NUMBERED)) {
        if (!PLACEHOLDER_KINDS.includes(kind))
          throw new ShapeError(
            place,
            `a placeholder of a known kind, found ${whole}${didYouMean(kind, PLACEHOLDER_KINDS)}`,
          );
        if (!told.has(whole))
          throw new ShapeError(
            place,
            `only placeholders that an answer before it tells, found ${whole}; told so far: ${[...told].join(', ') || 'none'}`,
          );
      }
    }
    for (const [whole, kind = ''] of textOf(step.response).matchAll(NUMBERED))
      if (PLACEHOLDER_KINDS.includes(kind)) told.add(whole);
  }
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? `${each}` : each)) ?? '';
}

function stepOf(step: JsonObject, place: Place): Step {
  for (const [member, schema] of Object.entries(STEPS)) if (member in step) return shaped(schema, step, place);
  throw new ShapeError(place, 'a member operation, counters, handEdit, settle or breakFile');
}

export function isExchange(each: Step): each is Exchange {
  return 'operation' in each;
}

/** Lists the exchanges of a scenario, without its other steps. */
export function exchangesOf({ exchanges }: Pick<Scenario, 'exchanges'>): readonly Exchange[] {
  return exchanges.filter(isExchange);
}
