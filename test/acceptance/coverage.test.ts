import { describe, expect, test } from 'vitest';
import { REVISIONS } from '../../revisions/index.js';
import { isExchange, type Scenario, type ScenarioResponse } from '../../src/replay/scenario.js';
import { isJsonObject } from '../../src/wire/json/json.js';
import { type Capability, OPERATIONS, type OperationName, operationsWith } from '../../src/wire/operations.js';
import type { Revision } from '../../src/wire/traits/revision.js';
import { type PackedScenario, scenariosOf } from './pack.js';

/** A row of the protocol's tables that a scenario stands for, by its mark in `covers`. */
interface Row {
  readonly mark: string;
  /** Which revisions have it; all when left out. */
  readonly needs?: Capability;
}

/** A row of the protocol's error table; every operation listed that is served must answer so in a scenario with the mark. */
interface ErrorRow extends Row {
  readonly status: number;
  /** The error's text, or its beginning where the row says so. */
  readonly text: string;
  readonly operations: readonly OperationName[];
}

const error = (name: string, status: number, text: string, ...operations: readonly OperationName[]): ErrorRow => ({
  mark: `error:${name}`,
  status,
  text,
  operations,
});

/**
 * Protocol: "Errors", and behind them two for where the protocol is silent. One row stands elsewhere: the
 * plain-text 404 of static files belongs to a line of its own (below).
 */
const ERROR_ROWS: readonly ErrorRow[] = [
  error('unauthorized', 401, 'unauthorized', 'getStatus'),
  { ...error('unauthorizedLogin', 401, 'unauthorized', 'login'), needs: 'login' },
  { ...error('authNotConfigured', 400, 'Auth not configured', 'login'), needs: 'login' },
  error('userNotFound', 400, 'user not found', 'getUser', 'setLimit', 'resetUser'),
  error('userNotFoundCapital', 400, 'User not found', 'updateUser', 'deleteUser'),
  error('saveFailed', 400, 'failed to save configuration', 'createUser', 'deleteUser', 'updateUser', 'setLimit'),
  { ...error('countTooLarge', 400, 'Count too large, max 1000', 'bulkCreateUsers'), needs: 'bulk' },
  error('noConfigPath', 400, 'No config path registered (run-time only)', 'getConfig', 'putConfig'),
  error('configModeMissing', 400, "Invalid config: missing 'mode' field", 'putConfig'),
  error('configReadFailed', 400, 'Failed to read config file', 'getConfig'),
  error('configStripFailed', 400, 'Failed to strip comments', 'getConfig'),
  error('configParseFailed', 400, 'Failed to parse config JSON', 'getConfig'),
  error('configFormatFailed', 400, 'Failed to format config JSON', 'putConfig'),
  error('configWriteFailed', 400, 'Failed to write config file', 'putConfig'),
  { ...error('outboundNotConfigured', 400, 'Outbound routing is not enabled in config', 'putRules'), needs: 'rules' },
  error('invalidAccessKey', 404, 'invalid access key', 'subscribe'),
  { ...error('auditTooLarge', 413, 'request body too large', 'addAudit'), needs: 'audit' },
  error(
    'loneSurrogate',
    400,
    'body is no Unicode text',
    ...OPERATIONS.filter(({ body }) => body.kind === 'json' || body.kind === 'dnsForm').map(({ name }) => name),
  ),
];

/** Protocol: "States and transitions": every row of the three tables. */
const TRANSITIONS: readonly Row[] = [
  { mark: 'transition:create' },
  { mark: 'transition:recreate' },
  { mark: 'transition:bulk', needs: 'bulk' },
  { mark: 'transition:update' },
  { mark: 'transition:setLimit' },
  { mark: 'transition:reset' },
  { mark: 'transition:delete' },
  { mark: 'transition:firstLogin', needs: 'login' },
  { mark: 'transition:nextLogin', needs: 'login' },
  { mark: 'transition:auditAdd', needs: 'audit' },
  { mark: 'transition:auditClear', needs: 'audit' },
];

/** Protocol: "Authentication" and "Versioning", and what is decided where the protocol is silent. */
const RULES: readonly Row[] = [
  { mark: 'auth:open' },
  { mark: 'auth:none' },
  { mark: 'auth:session', needs: 'login' },
  { mark: 'auth:halfConfigured', needs: 'login' },
  { mark: 'rule:online' },
  { mark: 'rule:listOrder' },
  { mark: 'rule:shareQuery' },
  { mark: 'rule:anyOrigin' },
  { mark: 'rule:keyNames' },
  { mark: 'rule:handEdit' },
  { mark: 'rule:bytesKept' },
  { mark: 'rule:webpath', needs: 'panel' },
  { mark: 'silent:malformedBodies' },
  { mark: 'silent:contentType' },
  { mark: 'silent:orderOfChecks' },
  { mark: 'silent:emptyAccessKey' },
  { mark: 'silent:unknownMembers' },
  { mark: 'silent:nullMembers' },
  { mark: 'silent:needlessBodies' },
  { mark: 'silent:integers' },
  { mark: 'silent:unmatched' },
  { mark: 'silent:head' },
  { mark: 'silent:optionsWithoutOrigin' },
  { mark: 'silent:emptyToken', needs: 'login' },
  { mark: 'silent:outboundConfigured', needs: 'rules' },
  { mark: 'silent:dnsConfig', needs: 'dns' },
];

const NAMED = ['earliest', 'dns', 'current'] as const;

/** What a scenario may call an exchange that is no operation of the API. */
const BESIDES = ['panel', 'cors', 'unmatched'];

function named(id: string): Revision {
  const revision = REVISIONS.find((each) => each.id === id);
  if (revision === undefined) throw new Error(`no revision ${id}`);
  return revision;
}

function rowsOf(rows: readonly Row[], revision: Revision): readonly string[] {
  return rows.filter(({ needs }) => needs === undefined || revision.capabilities.has(needs)).map(({ mark }) => mark);
}

function marksOf(scenarios: readonly PackedScenario[]): ReadonlySet<string> {
  return new Set(scenarios.flatMap(({ scenario }) => scenario.covers ?? []));
}

function answersSo({ status, body }: ScenarioResponse, row: ErrorRow): boolean {
  if (status !== row.status || body === undefined || !isJsonObject(body)) return false;
  return body.error === row.text || body.error === `<text starting:${row.text}>`;
}

function shows(scenario: Scenario, operation: OperationName, row: ErrorRow): boolean {
  return scenario.exchanges.some(
    (step) => isExchange(step) && step.operation === operation && answersSo(step.response, row),
  );
}

describe.each(NAMED)('the scenarios of %s', (id) => {
  const revision = named(id);
  const scenarios = scenariosOf(id);
  const exchanges = scenarios.flatMap(({ scenario }) => scenario.exchanges.filter(isExchange));
  const served = operationsWith(revision.capabilities).map(({ name }) => name);

  test('are of this revision', () => {
    expect(scenarios.filter(({ scenario }) => scenario.revision !== id)).toEqual([]);
  });

  test('show every operation that it serves at work, and name no other', () => {
    const atWork = exchanges.filter(({ response }) => response.status < 400).map(({ operation }) => operation);
    expect(served.filter((name) => !atWork.includes(name))).toEqual([]);
    const known: readonly string[] = [...served, ...BESIDES];
    expect(exchanges.map(({ operation }) => operation).filter((name) => !known.includes(name))).toEqual([]);
  });

  test('show its panel, its answers across origins and its unmatched paths', () => {
    const expected = BESIDES.filter((name) => name !== 'panel' || revision.capabilities.has('panel'));
    expect(expected.filter((name) => !exchanges.some(({ operation }) => operation === name))).toEqual([]);
  });

  test('stand for every row of the error table, each operation of the row in a scenario with its mark', () => {
    const missing = ERROR_ROWS.filter(({ needs }) => needs === undefined || revision.capabilities.has(needs)).flatMap(
      (row) =>
        row.operations
          .filter((name) => served.includes(name))
          .filter((name) => !marked(row.mark).some((scenario) => shows(scenario, name, row)))
          .map((name) => `${row.mark} by ${name}`),
    );
    expect(missing).toEqual([]);
  });

  test('carry no error mark that they do not show', () => {
    const untrue = ERROR_ROWS.flatMap((row) =>
      marked(row.mark)
        .filter((scenario) => !row.operations.some((name) => shows(scenario, name, row)))
        .filter((scenario) => !isUnauthorizedElsewhere(scenario, row))
        .map(({ title }) => `${row.mark}: ${title}`),
    );
    expect(untrue).toEqual([]);
  });

  test('stand for every transition', () => {
    expect(rowsOf(TRANSITIONS, revision).filter((mark) => !marksOf(scenarios).has(mark))).toEqual([]);
  });

  test('stand for every case of authentication and every rule where the protocol is silent', () => {
    expect(rowsOf(RULES, revision).filter((mark) => !marksOf(scenarios).has(mark))).toEqual([]);
  });

  test('refuse every protected operation without a credential', () => {
    const refused = exchanges.filter(({ request, response }) => {
      return response.status === 401 && request.headers?.authorization === undefined;
    });
    const protectedOnes = operationsWith(revision.capabilities).filter(({ access }) => access === 'protected');
    const names = refused.map(({ operation }) => operation);
    expect(protectedOnes.map(({ name }) => name).filter((name) => !names.includes(name))).toEqual([]);
  });

  function marked(mark: string): readonly Scenario[] {
    return scenarios.map(({ scenario }) => scenario).filter(({ covers }) => covers?.includes(mark) === true);
  }
});

/** Any protected operation may show the access check. */
function isUnauthorizedElsewhere(scenario: Scenario, row: ErrorRow): boolean {
  if (row.mark !== 'error:unauthorized') return false;
  return scenario.exchanges.some((step) => isExchange(step) && answersSo(step.response, row));
}

test('every mark is a row of a table here', () => {
  const known = [...ERROR_ROWS, ...TRANSITIONS, ...RULES].map(({ mark }) => mark);
  const marks = [...marksOf(NAMED.flatMap((id) => scenariosOf(id)))];
  expect(marks.filter((mark) => !known.includes(mark) && mark !== 'auth:token')).toEqual([]);
});

test('the static token is shown where a scheme takes one', () => {
  for (const id of ['earliest', 'current']) expect(marksOf(scenariosOf(id))).toContain('auth:token');
});

test('the plain-text 404 of static files is shown by the line that has it', () => {
  expect(marksOf(scenariosOf('lines'))).toContain('error:missingStaticFile');
});
