import type { JsonValue } from '../../wire/json/json.js';
import { writeJson } from '../../wire/json/write-json.js';
import { type Exchange, isExchange, type Scenario, type Step } from './scenario.js';

/**
 * Returns the text of a scenario file: three lines for each exchange, one line for each line of a file, everything else
 * on one line. Reading it back gives the same scenario.
 */
export function formatScenario(scenario: Scenario): string {
  const { given, exchanges, then, covers, ...head } = scenario;
  const lines = Object.entries(head).map(([name, value]) => member(name, JSON.stringify(value), 1));
  if (covers !== undefined) lines.push(member('covers', writeLines(covers, 1), 1));
  lines.push(member('given', formatState(withWirePort(given)), 1));
  lines.push(member('exchanges', formatList(exchanges.map(formatStep), 1), 1));
  if (then !== undefined) lines.push(member('then', formatState(then), 1));
  return `{\n${lines.join(',\n')}\n}\n`;
}

/** Plain numbers of the format are integers, which `writeJson` takes as bigint. */
function withWirePort(given: Scenario['given']): object {
  return given.server === undefined
    ? given
    : { ...given, server: { ...given.server, port: BigInt(given.server.port) } };
}

/** Writes `given` or `then`: each member on a line of its own, a file's text line by line. */
function formatState(state: object): string {
  const lines = Object.entries(state).map(([name, value]) =>
    member(name, isLines(name, value) ? writeLines(value, 2) : compact(value), 2),
  );
  return lines.length === 0 ? '{}' : `{\n${lines.join(',\n')}\n  }`;
}

function isLines(name: string, value: unknown): value is readonly string[] {
  return name === 'configText' && Array.isArray(value);
}

function formatStep(step: Step): string {
  return isExchange(step) ? formatExchange(step) : compact(step);
}

/** The texts of exchanges: a recording is written again and again while it grows. */
const TEXTS = new WeakMap<Exchange, string>();

function formatExchange(exchange: Exchange): string {
  const known = TEXTS.get(exchange);
  if (known !== undefined) return known;
  const { operation, request, response } = exchange;
  const blanks = ' '.repeat(6);
  const text = [
    `{ "operation": ${JSON.stringify(operation)},`,
    `${blanks}"request": ${compact(request)},`,
    `${blanks}"response": ${compact({ ...response, status: BigInt(response.status) })} }`,
  ].join('\n');
  TEXTS.set(exchange, text);
  return text;
}

/** Parts of a scenario are JSON values with readonly types. */
function compact(value: unknown): string {
  return writeJson(value as JsonValue);
}

function member(name: string, value: string, depth: number): string {
  return `${'  '.repeat(depth)}${JSON.stringify(name)}: ${value}`;
}

function writeLines(lines: readonly string[], depth: number): string {
  return formatList(
    lines.map((line) => JSON.stringify(line)),
    depth,
  );
}

function formatList(elements: readonly string[], depth: number): string {
  if (elements.length === 0) return '[]';
  const blanks = '  '.repeat(depth + 1);
  return `[\n${blanks}${elements.join(`,\n${blanks}`)}\n${'  '.repeat(depth)}]`;
}
