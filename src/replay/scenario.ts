import { JsonSyntaxError, type JsonValue, parseJson } from '../wire/json/json.js';
import {
  anything,
  asObject,
  type Check,
  integer,
  listOf,
  mapOf,
  members,
  mismatch,
  oneOf,
  ShapeError,
  smallInteger,
  text,
} from './shape.js';

/** One scenario: a chain of exchanges against a server that stands in a given state (design: "Fixtures"). */
export interface Scenario {
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

const METHOD = /^[A-Z]+$/;
/** What can stand in a request line: visible ASCII, no blank. */
const PATH = /^[\x21-\x7e]*$/;

const method: Check<string> = (value, place) => {
  if (typeof value !== 'string' || !METHOD.test(value)) throw mismatch(place, 'a method in capitals', value);
  return value;
};

const path: Check<string> = (value, place) => {
  if (typeof value !== 'string' || !PATH.test(value))
    throw mismatch(place, 'a path in visible ASCII characters', value);
  return value;
};

const settled: Check<true> = (value, place) => {
  if (value !== true) throw mismatch(place, 'true', value);
  return true;
};

const counterState: Check<CounterState> = members(
  { access_key: text, bytes_up: integer, bytes_down: integer, connections: integer },
  {},
);

const request: Check<ScenarioRequest> = members(
  { method, path },
  { root: oneOf('api', 'base', 'server'), headers: mapOf(text), body: anything, text },
);

const response: Check<ScenarioResponse> = members(
  { status: smallInteger(100, 599) },
  { headers: mapOf(text), body: anything, text, unordered: listOf(text) },
);

const exchange: Check<Exchange> = members({ operation: text, request, response }, {});
const countersStep: Check<CountersStep> = members({ counters: listOf(counterState) }, {});
const handEditStep: Check<HandEditStep> = members({ handEdit: text }, {});
const settleStep: Check<SettleStep> = members({ settle: settled }, {});
const breakFileStep: Check<BreakFileStep> = members(
  { breakFile: oneOf('the file is gone', 'a folder stands where the file was') },
  {},
);

const step: Check<Step> = (value, place) => {
  const source = asObject(value, place);
  if ('operation' in source) return exchange(value, place);
  if ('counters' in source) return countersStep(value, place);
  if ('handEdit' in source) return handEditStep(value, place);
  if ('settle' in source) return settleStep(value, place);
  if ('breakFile' in source) return breakFileStep(value, place);
  throw new ShapeError(place, 'a member operation, counters, handEdit, settle or breakFile');
};

const listener: Check<GivenListener> = members({}, { token: text, webpath: text, username: text, password_hash: text });

const server: Check<GivenServer> = members(
  { host: text, port: smallInteger(0, 65535), shareScheme: text, shareQuery: text },
  {},
);

const given: Check<Given> = onlyOneOf(
  'config',
  'configText',
  members({}, { config: anything, configText: listOf(text), counters: listOf(counterState), listener, server }),
);

const afterwards: Check<FileAfterwards> = onlyOneOf(
  'config',
  'configText',
  members({}, { config: anything, configText: listOf(text), compare: oneOf('bytes') }),
);

const scenario: Check<Scenario> = members(
  { title: text, revision: text, source: oneOf('spec', 'recorded'), given, exchanges: listOf(step) },
  // biome-ignore lint/suspicious/noThenProperty: the format's own name; its value is no function, so nothing awaits it
  { serverVersion: text, recordedAt: text, anonymous: settled, covers: listOf(text), then: afterwards },
);

function onlyOneOf<T>(left: string, right: string, check: Check<T>): Check<T> {
  return (value, place) => {
    const source = asObject(value, place);
    if (left in source && right in source) throw new ShapeError(place, `either ${left} or ${right}, not both`);
    return check(value, place);
  };
}

/** A response as a scenario writes it, where it stands elsewhere (a register of divergences). */
export const responseShape: Check<ScenarioResponse> = response;

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
  return scenario(readFixtureJson(content, file), { file, path: '' });
}

export function isExchange(each: Step): each is Exchange {
  return 'operation' in each;
}
