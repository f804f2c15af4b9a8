import type { DomainErrorCode } from '../../src/core/errors.js';
import { type Exchange, isExchange, type Scenario } from '../../src/lab/format/scenario.js';
import { OWN_OPERATIONS, type OwnOperation } from '../../src/own-api/operations.js';
import type { ErrorAnswer, FailureName } from '../../src/wire/errors.js';
import { isJsonObject } from '../../src/wire/json/json.js';
import { accessOf, OPERATIONS, type Operation, operationsOf } from '../../src/wire/operations.js';
import type { Revision } from '../../src/wire/traits/revision.js';

/** A row of the error table; every operation listed that is served must answer so in a scenario with the mark. */
export interface ErrorRow extends ErrorAnswer {
  readonly mark: string;
  readonly operations: readonly Operation[];
}

/** The failures that operations name as their own. */
const OWN_FAILURES: readonly FailureName[] = [...new Set(OPERATIONS.flatMap(({ failures }) => failures))];

/** The mark of the scenarios that show a failure. The access check has one of its own, beside a login that is refused. */
const markOf = (name: FailureName) => (name === 'unauthorized' ? 'error:unauthorizedLogin' : `error:${name}`);

/** Failures that no operation names, because they come of what operations have in common. */
const COMMON_FAILURES: readonly {
  readonly mark: string;
  readonly name: DomainErrorCode;
  readonly text?: string;
  readonly isBy: (operation: Operation) => boolean;
}[] = [
  // Any protected operation may show the access check; each shows it without a credential (below).
  { mark: 'error:unauthorized', name: 'unauthorized', isBy: ({ name }) => name === 'getStatus' },
  { mark: 'error:auditTooLarge', name: 'bodyTooLarge', isBy: ({ name }) => name === 'addAudit' },
  {
    mark: 'error:loneSurrogate',
    name: 'invalidBody',
    text: 'body is no Unicode text',
    isBy: ({ body }) => body.kind === 'json',
  },
];

/** The rows of the error table as a revision words them. */
export function errorRowsOf({ errors }: Revision): readonly ErrorRow[] {
  const wordsOf = (name: FailureName) => ({ status: errors[name].status, text: errors[name].text });
  const own = OWN_FAILURES.map((name) => ({
    mark: markOf(name),
    ...wordsOf(name),
    operations: OPERATIONS.filter(({ failures }) => failures.includes(name)),
  }));
  const common = COMMON_FAILURES.map(({ mark, name, text, isBy }) => ({
    mark,
    ...wordsOf(name),
    ...(text === undefined ? {} : { text }),
    operations: OPERATIONS.filter(isBy),
  }));
  return [...common, ...own];
}

/** Whether a scenario has the operation answer so. */
export function shows(scenario: Scenario, operation: string, { status, text }: ErrorAnswer): boolean {
  return scenario.exchanges.filter(isExchange).some(({ operation: name, response }) => {
    if (name !== operation || response.status !== status || !isJsonObject(response.body ?? null)) return false;
    const error = isJsonObject(response.body) ? response.body.error : undefined;
    return error === text || error === `<text starting:${text}>`;
  });
}

function exchangesOf(scenarios: readonly Scenario[]): readonly Exchange[] {
  return scenarios.flatMap(({ exchanges }) => exchanges.filter(isExchange));
}

/** The operations of a revision that no scenario shows at work. */
export function unshownOperations(revision: Revision, scenarios: readonly Scenario[]): readonly string[] {
  const atWork = exchangesOf(scenarios).filter(({ response }) => response.status < 400);
  const names = new Set(atWork.map(({ operation }) => operation));
  return operationsOf(revision)
    .map(({ name }) => name)
    .filter((name) => !names.has(name));
}

/** The operations of Keyway's own interface that no scenario shows at work, or none refused, as `operation: what is not shown`. */
export function unshownOwnOperations(scenarios: readonly Scenario[]): readonly string[] {
  const exchanges = exchangesOf(scenarios);
  return OWN_OPERATIONS.flatMap((operation) => {
    const statuses = exchanges.filter((each) => isCallOf(operation, each)).map(({ response }) => response.status);
    return [
      ...(statuses.some((status) => status < 400) ? [] : [`${operation.name}: at work`]),
      ...(statuses.some((status) => status >= 400) ? [] : [`${operation.name}: refused`]),
    ];
  });
}

/** The exchanges that say that they are of Keyway's own interface and call none of its operations, or another one. */
export function misnamedOwnCalls(scenarios: readonly Scenario[]): readonly Exchange[] {
  return exchangesOf(scenarios)
    .filter(({ operation, request }) => operation.startsWith('v1.') || request.root === 'v1')
    .filter((each) => !OWN_OPERATIONS.some((operation) => isCallOf(operation, each)));
}

function isCallOf({ name, method, path }: OwnOperation, { operation, request }: Exchange): boolean {
  const [asked = ''] = request.path.split('?', 1);
  const [given, expected] = [asked.split('/'), path.split('/')];
  const fits =
    given.length === expected.length && expected.every((part, at) => part.startsWith('{') || part === given[at]);
  return operation === `v1.${name}` && request.root === 'v1' && request.method === method && fits;
}

/** The failures of served operations that no scenario with their mark shows, as `mark by operation`. */
export function unshownFailures(revision: Revision, scenarios: readonly Scenario[]): readonly string[] {
  const served = new Set(operationsOf(revision));
  return errorRowsOf(revision).flatMap((row) => {
    const marked = scenarios.filter(({ covers }) => covers?.includes(row.mark) === true);
    return row.operations
      .filter((operation) => served.has(operation))
      .filter(({ name }) => !marked.some((scenario) => shows(scenario, name, row)))
      .map(({ name }) => `${row.mark} by ${name}`);
  });
}

/** The protected operations of a revision that no scenario shows refused to a caller without a credential. */
export function unrefusedOperations(revision: Revision, scenarios: readonly Scenario[]): readonly string[] {
  const refused = exchangesOf(scenarios).filter(({ request, response }) => {
    return response.status === 401 && request.headers?.authorization === undefined;
  });
  const names = new Set(refused.map(({ operation }) => operation));
  return operationsOf(revision)
    .filter((operation) => accessOf(operation, revision) === 'protected' && !names.has(operation.name))
    .map(({ name }) => name);
}
