import type { TSchema } from 'typebox';
import { type JsonObject, JsonSyntaxError, type JsonValue, parseJson } from '../../wire/json/json.js';
import { OPERATIONS } from '../../wire/operations.js';
import { didYouMean } from '../../wire/suggest.js';
import { Type } from '../../wire/typebox.js';
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

/** One scenario: a chain of exchanges against a server that stands in a given state (design: "Fixtures"). */
export interface Scenario {
  /** Where the JSON Schema of this format stands, for editors. */
  readonly $schema?: string;
  readonly title: string;
  /** A revision's id or a server package version. */
  readonly revision: string;
  /** `spec`: written by hand from the specification; `recorded`: what a real server answered, never edited by hand. */
  readonly source: 'spec' | 'recorded';
  readonly serverVersion?: string;
  /** `YYYY-MM-DD`. */
  readonly recordedAt?: string;
  /** A recording whose access keys became placeholders: `<key:n>` stands for any text, not for a generated one alone. */
  readonly anonymous?: true;
  /** Rows of the specification that this scenario stands for, such as `error:userNotFound`. */
  readonly covers?: readonly string[];
  readonly given: Given;
  readonly exchanges: readonly Step[];
  readonly then?: FileAfterwards;
}

/** The state before the first step. With neither `config` nor `configText` the server runs without a file. */
export interface Given {
  /** The configuration file as a JSON value. */
  readonly config?: JsonValue;
  /** The configuration file as lines; it may hold comments. */
  readonly configText?: readonly string[];
  readonly counters?: readonly CounterState[];
  /** Listener fields where there is no file, or over it. */
  readonly listener?: GivenListener;
  /** What the server tells its clients. */
  readonly server?: GivenServer;
}

export interface GivenListener {
  readonly token?: string;
  readonly webpath?: string;
  readonly username?: string;
  readonly password_hash?: string;
}

export interface GivenServer {
  readonly host: string;
  readonly port: number;
  readonly shareScheme: string;
  readonly shareQuery: string;
}

/** Traffic counters as they stand; unsigned 64-bit. */
export interface CounterState {
  readonly access_key: string;
  readonly bytes_up: bigint;
  readonly bytes_down: bigint;
  readonly connections: bigint;
}

export type Step = Exchange | CountersStep | HandEditStep | SettleStep | BreakFileStep;

export interface Exchange {
  readonly operation: string;
  readonly request: ScenarioRequest;
  readonly response: ScenarioResponse;
}

/** Below what a path is written: the API root, the panel's `{base}`, or the server itself. */
export type PathRoot = 'api' | 'base' | 'server';

export interface ScenarioRequest {
  readonly method: string;
  /** `api` when left out. */
  readonly root?: PathRoot;
  /** Sent exactly as it stands, behind its root. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: JsonValue;
  /** Sent as these bytes. */
  readonly text?: string;
}

export interface ScenarioResponse {
  readonly status: number;
  /** Left out: a `body` is `application/json`, and no header is compared besides. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: JsonValue;
  readonly text?: string;
  /** JSON pointers of arrays whose order is not part of the answer. */
  readonly unordered?: readonly string[];
}

/** From here on the counters stand like this. */
export interface CountersStep {
  readonly counters: readonly CounterState[];
}

/** The file is written by hand, and the server is given time to notice. */
export interface HandEditStep {
  readonly handEdit: string;
}

/** Time passes until the server has noticed what happened to its file. */
export interface SettleStep {
  readonly settle: true;
}

/** How a scenario makes the file unusable: removed, or with a folder in its place. */
export type Breakage = 'the file is gone' | 'a folder stands where the file was';

export interface BreakFileStep {
  readonly breakFile: Breakage;
}

/** The configuration file after the last step. */
export interface FileAfterwards {
  readonly config?: JsonValue;
  readonly configText?: readonly string[];
  /** `bytes`: compared byte for byte, comments and all; left out: as a JSON value. */
  readonly compare?: 'bytes';
}

const COUNTERS = listOf(object({ access_key: TEXT, bytes_up: INTEGER, bytes_down: INTEGER, connections: INTEGER }));

const REQUEST = object({
  method: Type.String({ pattern: /^[A-Z]+$/, expected: 'a method in capitals' }),
  // What can stand in a request line: visible ASCII, no blank.
  path: Type.String({ pattern: /^[\x21-\x7e]*$/, expected: 'a path in visible ASCII characters' }),
  root: Type.Optional(oneOf('api', 'base', 'server')),
  headers: Type.Optional(mapOf(TEXT)),
  body: Type.Optional(ANYTHING),
  text: Type.Optional(TEXT),
});

/** A response as a scenario writes it, where it stands elsewhere, too (a register of divergences). */
export const RESPONSE = object({
  status: smallInteger(100, 599),
  headers: Type.Optional(mapOf(TEXT)),
  body: Type.Optional(ANYTHING),
  text: Type.Optional(TEXT),
  unordered: Type.Optional(listOf(TEXT)),
});

/** What a request may be that is no operation: a preflight or a call of another origin, a path of the panel, one of nobody. */
const BESIDES = ['cors', 'panel', 'unmatched'];

const OPERATION = Type.String({
  enum: [...OPERATIONS.map(({ name }) => name), ...BESIDES],
  expected: `an operation of the API, or ${BESIDES.join(', ')}`,
});

/** The steps, by the member that tells them apart. */
const STEPS = {
  operation: object({ operation: OPERATION, request: REQUEST, response: RESPONSE }),
  counters: object({ counters: COUNTERS }),
  handEdit: object({ handEdit: TEXT }),
  settle: object({ settle: TRUE }),
  breakFile: object({ breakFile: oneOf('the file is gone', 'a folder stands where the file was') }),
};

/** A file as a JSON value or as lines. */
const FILE = { config: Type.Optional(ANYTHING), configText: Type.Optional(listOf(TEXT)) };
const NOT_BOTH = {
  not: { required: ['config', 'configText'] },
  expected: 'an object with either config or configText, not both',
};

const SCENARIO = object({
  $schema: Type.Optional(TEXT),
  title: TEXT,
  revision: TEXT,
  source: oneOf('spec', 'recorded'),
  given: object(
    {
      ...FILE,
      counters: Type.Optional(COUNTERS),
      listener: Type.Optional(
        object({
          token: Type.Optional(TEXT),
          webpath: Type.Optional(TEXT),
          username: Type.Optional(TEXT),
          password_hash: Type.Optional(TEXT),
        }),
      ),
      server: Type.Optional(object({ host: TEXT, port: smallInteger(0, 65535), shareScheme: TEXT, shareQuery: TEXT })),
    },
    NOT_BOTH,
  ),
  exchanges: listOf(mapOf(ANYTHING)),
  serverVersion: Type.Optional(TEXT),
  recordedAt: Type.Optional(TEXT),
  anonymous: Type.Optional(TRUE),
  covers: Type.Optional(listOf(TEXT)),
  // biome-ignore lint/suspicious/noThenProperty: the format's own name; its value is no function, so nothing awaits it
  then: Type.Optional(object({ ...FILE, compare: Type.Optional(oneOf('bytes')) }, NOT_BOTH)),
});

/** JSON text as a value with exact integers; a syntax error names the file. */
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
  if (scenario.source === 'spec') checkPlaceholders(steps, file);
  return { ...scenario, exchanges: steps };
}

/** The JSON Schema of a scenario file, for editors. */
export function scenarioSchema(): TSchema {
  const exchanges = listOf(Type.Union(Object.values(STEPS)));
  return Type.Object({ ...SCENARIO.properties, exchanges }, { additionalProperties: false });
}

const NUMBERED = /<([a-z-]+):(\d+)>/g;
const KINDS = ['key', 'session', 'audit-id', 'name', 'text', 'secret'];

/**
 * What a scenario written by hand sends has to be told before it: a numbered placeholder of a request stands in an answer of
 * an earlier step. Recordings bring values of their own along, for which the run has others.
 */
function checkPlaceholders(steps: readonly Step[], file: string): void {
  const told = new Set<string>();
  for (const [index, step] of steps.entries()) {
    if (!isExchange(step)) continue;
    for (const [member, value] of Object.entries(step.request)) {
      const place = { file, path: `/exchanges/${index}/request/${member}` };
      for (const [whole, kind = ''] of textOf(value).matchAll(NUMBERED)) {
        if (!KINDS.includes(kind))
          throw new ShapeError(place, `a placeholder of a known kind, found ${whole}${didYouMean(kind, KINDS)}`);
        if (!told.has(whole))
          throw new ShapeError(
            place,
            `only placeholders that an answer before it tells, found ${whole}; told so far: ${[...told].join(', ') || 'none'}`,
          );
      }
    }
    for (const [whole, kind = ''] of textOf(step.response).matchAll(NUMBERED))
      if (KINDS.includes(kind)) told.add(whole);
  }
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? `${each}` : each)) ?? '';
}

function stepOf(step: JsonObject, place: Place): Step {
  if ('operation' in step) return shaped(STEPS.operation, step, place);
  if ('counters' in step) return shaped(STEPS.counters, step, place);
  if ('handEdit' in step) return shaped(STEPS.handEdit, step, place);
  if ('settle' in step) return shaped(STEPS.settle, step, place);
  if ('breakFile' in step) return shaped(STEPS.breakFile, step, place);
  throw new ShapeError(place, 'a member operation, counters, handEdit, settle or breakFile');
}

export function isExchange(each: Step): each is Exchange {
  return 'operation' in each;
}
