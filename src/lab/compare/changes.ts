import type { JsonValue } from '../../wire/json/json.js';
import { type Exchange, exchangesOf, isExchange, type Scenario } from '../format/scenario.js';
import { operationName } from './compare-runs.js';
import { type ChangeKind, changeOf, type RunDifference, type Sides } from './line-changes.js';
import { compareTexts, generalPlace } from './places.js';

/** A scenario that was played on two servers. */
export interface ComparedScenario {
  /** Its shown name, which stands for the client if no program is known; null for a scenario that comes with Keyway. */
  readonly name: string | null;
  readonly scenario: Scenario;
  readonly differences: readonly RunDifference[];
}

/**
 * A difference that one client meets at one place in an operation's answers. `where` has `*` for the places in lists;
 * the values are an example.
 */
export interface Change {
  /** The program that a recording names, else the recording; one name for all scenarios that come with Keyway. */
  readonly client: string;
  readonly operation: string;
  readonly where: string;
  readonly expected: JsonValue | undefined;
  readonly actual: JsonValue | undefined;
  readonly kind: ChangeKind;
  /** The difference between the two records that explains it; null if none does. */
  readonly because: string | null;
  /** The number of the client's calls of the operation that meet it, and of all its calls of it. */
  readonly met: number;
  readonly calls: number;
}

/** Groups differences by client, operation and place, and counts the calls that meet each. */
export function changesIn(compared: readonly ComparedScenario[], sides: Sides): readonly Change[] {
  const calls = new Map<string, number>();
  const changes = new Map<string, Change & { readonly steps: Set<string> }>();
  for (const [index, { name, scenario, differences }] of compared.entries()) {
    for (const exchange of exchangesOf(scenario)) {
      const called = `${clientOf(name, exchange)} ${operationName(exchange)}`;
      calls.set(called, (calls.get(called) ?? 0) + 1);
    }
    for (const difference of differences) {
      const { operation, where, step, expected, actual } = difference;
      const exchange = scenario.exchanges[step - 1];
      const client = clientOf(name, exchange !== undefined && isExchange(exchange) ? exchange : null);
      const place = generalPlace(where);
      const { kind, because } = changeOf(difference, sides);
      const key = `${client} ${operation} ${place} ${kind}`;
      const shown = { client, operation, where: place, expected, actual, kind, because, met: 0, calls: 0 };
      const change = changes.get(key) ?? { ...shown, steps: new Set() };
      changes.set(key, change);
      change.steps.add(`${index} ${step}`);
    }
  }
  return [...changes.values()]
    .map(({ steps, ...change }) => {
      return { ...change, met: steps.size, calls: calls.get(`${change.client} ${change.operation}`) ?? steps.size };
    })
    .sort((a, b) => compareTexts(placeOf(a), placeOf(b)));
}

function placeOf({ client, operation, where }: Change): string {
  return `${client} ${operation} ${where}`;
}

function clientOf(name: string | null, exchange: Exchange | null): string {
  return exchange?.request.headers?.['user-agent'] ?? name ?? 'scenarios';
}
