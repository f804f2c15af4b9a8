import type { Answer, Call, Caller, Target } from '../../client/call.js';
import { createCaller } from '../../client/caller.js';
import { messageOf } from '../../core/errors.js';
import type { JsonValue } from '../../wire/json/json.js';
import { writeJson } from '../../wire/json/write-json.js';
import { type Addresses, replaceAddresses, replaceAddressesInJson } from '../format/addresses.js';
import type { AnswerDifference } from '../format/json-difference.js';
import { movedPlace } from '../format/parse-place.js';
import { type Bindings, createBindings, UnboundPlaceholder } from '../format/placeholders.js';
import type {
  Breakage,
  CounterState,
  Exchange,
  FileAfterwards,
  Scenario,
  ScenarioRequest,
  ScenarioResponse,
  Step,
} from '../format/scenario.js';
import { compareAnswer, compareFile, compareFileAt, type Held, openDifferences } from './compare.js';
import { createCall } from './create-call.js';

/** The server's surroundings, as far as a scenario changes them. */
export interface Stage {
  /** Gives the counters of these keys these values from here on. */
  counters(list: readonly CounterState[]): Promise<void>;
  /** Edits the configuration file by hand; resolves when the server has noticed. */
  handEdit(text: string): Promise<void>;
  /** Resolves when the server has noticed everything that happened to its file. */
  settle(): Promise<void>;
  /** Removes the file or puts a folder in its place. */
  breakFile(reason: Breakage): Promise<void>;
  /** Returns the present content of the configuration file. */
  configText(): Promise<string>;
}

/** A difference between a scenario and what was received. */
export interface Difference extends AnswerDifference {
  /** Number of the step, from 1; `then` for the file afterwards. */
  readonly step: number | 'then';
}

export interface PlayedStep {
  /** Number of the step, from 1. */
  readonly step: number;
  readonly exchange: Exchange;
  /** Null without an answer. */
  readonly answer: Answer | null;
  /** Compares the answer with another response than the scenario's, using the same placeholders. */
  compareWith(response: ScenarioResponse): readonly AnswerDifference[];
}

/** The configuration file after the last step. */
export interface PlayedFile {
  /** Compares the value at a JSON pointer with another value than the scenario's, using the same placeholders. */
  compareAt(pointer: string, expected: JsonValue): readonly AnswerDifference[];
}

export interface PlayOptions {
  readonly target: Target;
  readonly stage: Stage;
  readonly addresses: Addresses;
  /** The most milliseconds for one exchange; default 10,000. */
  readonly timeoutMilliseconds?: number;
  /** `ignored` if the server's own panel page is not compared; default `exact`. */
  readonly pages?: 'exact' | 'ignored';
  /** `ignored` because servers list keys without traffic in any order; by default as the scenario's source requires. */
  readonly keyOrder?: 'ignored';
  /** Tells which steps are not played at all; by default none. */
  readonly leavesOut?: (exchange: Exchange) => boolean;
  /** Tells how much of a step's answer is compared; by default all of it. */
  readonly heldTo?: (exchange: Exchange) => Held;
  /** Sends the calls, and is not closed at the end; by default a separate connection of the scenario's. */
  readonly caller?: Caller;
  /** The values of placeholders before the first step; those in answers are added. */
  readonly bindings?: Bindings;
  /** Asked before every step; true ends the scenario there, without comparing the file. */
  readonly isStopped?: () => boolean;
  /** Called with every exchange, in order. */
  readonly onStep?: (played: PlayedStep) => void;
  /** Called with the file afterwards, if the scenario says something about it. */
  readonly onFile?: (played: PlayedFile) => void;
}

interface Chain extends PlayOptions {
  readonly bindings: Bindings;
  readonly caller: Caller;
}

/** Plays a scenario's steps in order and lists every difference; none if the server answers as expected. */
export async function playScenario(scenario: Scenario, options: PlayOptions): Promise<readonly Difference[]> {
  const { origin } = options.target;
  const caller = options.caller ?? createCaller({ origin, timeoutMilliseconds: options.timeoutMilliseconds ?? 10_000 });
  const chain: Chain = {
    ...options,
    bindings: options.bindings ?? createBindings(scenario.anonymous === true),
    caller,
  };
  const differences: Difference[] = [];
  try {
    for (const [index, step] of scenario.exchanges.entries()) {
      if (options.isStopped?.() === true) return differences;
      const found = await playStep(step, index + 1, chain);
      differences.push(...found.map((difference) => ({ step: index + 1, ...difference })));
    }
    if (scenario.then !== undefined) differences.push(...(await compareAfterwards(scenario, scenario.then, chain)));
    return differences;
  } finally {
    if (options.caller === undefined) caller.close();
  }
}

async function playStep(step: Step, number: number, chain: Chain): Promise<readonly AnswerDifference[]> {
  if ('counters' in step) await chain.stage.counters(step.counters);
  else if ('handEdit' in step) await chain.stage.handEdit(replaceAddresses(step.handEdit, chain.addresses));
  else if ('settle' in step) await chain.stage.settle();
  else if ('breakFile' in step) await chain.stage.breakFile(step.breakFile);
  else if (chain.leavesOut?.(step) !== true) return playExchange(step, number, chain);
  return [];
}

async function playExchange(exchange: Exchange, step: number, chain: Chain): Promise<readonly AnswerDifference[]> {
  const result = await callOrDifference(exchange.request, chain);
  if ('where' in result) {
    chain.onStep?.({ step, exchange, answer: null, compareWith: () => [result] });
    return [result];
  }
  const { call, answer } = result;
  const held = chain.heldTo?.(exchange) ?? 'exactly';
  const compare = (response: ScenarioResponse, bindings: Bindings) =>
    held === 'exactly'
      ? compareAnswer(asSentHere(withAddresses(response, chain.addresses), exchange, call, chain), answer, {
          bindings,
          requestHeaders: lowerCased(call.headers),
          pages: chain.pages ?? 'exact',
        })
      : openDifferences(held, answer);
  const differences = compare(exchange.response, chain.bindings);
  chain.onStep?.({ step, exchange, answer, compareWith: (response) => compare(response, new Map(chain.bindings)) });
  return differences;
}

/** Returns the answer, or a single difference that says why there is none. */
async function callOrDifference(
  request: ScenarioRequest,
  chain: Chain,
): Promise<{ readonly call: Call; readonly answer: Answer } | AnswerDifference> {
  try {
    const call = createCall(request, chain);
    return { call, answer: await chain.caller.send(call) };
  } catch (error) {
    const where = error instanceof UnboundPlaceholder ? 'request' : 'connection';
    return { where, expected: 'an answer', actual: messageOf(error) };
  }
}

function withAddresses(response: ScenarioResponse, addresses: Addresses): ScenarioResponse {
  if (response.body === undefined) return response;
  return { ...response, body: replaceAddressesInJson(response.body, addresses) };
}

/** Returns a response in the form that a server gives to this very request. */
function asSentHere(
  response: ScenarioResponse,
  { operation, request: { body } }: Exchange,
  call: Call,
  { keyOrder }: Chain,
): ScenarioResponse {
  if (keyOrder === 'ignored' && operation === 'listUsers' && response.unordered === undefined)
    return { ...response, unordered: ['/data'] };
  if (response.text === undefined || body === undefined || call.body === undefined) return response;
  // A recorded body was sent with blanks and lines, which move the place where a parser stops.
  const sent = call.body.toString('utf8');
  return { ...response, text: movedPlace(response.text, JSON.stringify(JSON.parse(sent), null, 2), sent) };
}

async function compareAfterwards(
  scenario: Scenario,
  expected: FileAfterwards,
  chain: Chain,
): Promise<readonly Difference[]> {
  const wanted: FileAfterwards = {
    ...expected,
    ...(expected.config === undefined ? {} : { config: replaceAddressesInJson(expected.config, chain.addresses) }),
    ...(expected.configText === undefined
      ? {}
      : { configText: linesWithAddresses(expected.configText, chain.addresses) }),
  };
  const keyOrder = chain.keyOrder ?? (scenario.source === 'recorded' ? 'ignored' : 'exact');
  const text = await chain.stage.configText();
  const found = compareFile(wanted, text, { bindings: chain.bindings, keyOrder });
  chain.onFile?.({
    compareAt: (pointer, value) => {
      const filled = replaceAddressesInJson(value, chain.addresses);
      return compareFileAt(pointer, filled, text, new Map(chain.bindings));
    },
  });
  return found.map((difference) => ({ step: 'then', ...difference }));
}

function linesWithAddresses(lines: readonly string[], addresses: Addresses): readonly string[] {
  return lines.map((line) => replaceAddresses(line, addresses));
}

function lowerCased(headers: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  return new Map([...headers].map(([name, value]) => [name.toLowerCase(), value]));
}

/** Returns the configuration file before the first step as text; undefined if the scenario has none. */
export function givenFile(scenario: Scenario, addresses: Addresses): string | undefined {
  const { config, configText } = scenario.given;
  if (configText !== undefined) return replaceAddresses(configText.join('\n'), addresses);
  if (config === undefined) return undefined;
  const value: JsonValue = replaceAddressesInJson(config, addresses);
  return `${writeJson(value, 2)}\n`;
}
