import { describe, expect, test } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { isExchange, type Scenario } from '../../src/lab/format/scenario.js';
import { operationsOf } from '../../src/wire/operations.js';
import type { Capability, Revision } from '../../src/wire/traits/revision.js';
import {
  type ErrorRow,
  errorRowsOf,
  misnamedOwnCalls,
  shows,
  unrefusedOperations,
  unshownFailures,
  unshownOperations,
  unshownOwnOperations,
} from './coverage.js';
import { foldersOf, type PackedScenario, scenariosOf } from './pack.js';

/** A row of the protocol's tables that a scenario stands for, by its mark in `covers`. */
interface Row {
  readonly mark: string;
  /** Which revisions have it; all when left out. */
  readonly needs?: Capability;
}

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

/** Protocol: "Authentication" and "Lines", and what is decided where the protocol is silent. */
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
  { mark: 'silent:otherMode' },
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
  return rows
    .filter(({ needs }) => needs === undefined || revision.capabilities[needs] !== undefined)
    .map(({ mark }) => mark);
}

function marksOf(scenarios: readonly PackedScenario[]): ReadonlySet<string> {
  return new Set(scenarios.flatMap(({ scenario }) => scenario.covers ?? []));
}

/**
 * The scenarios that stand for a revision: its own, what was recorded of it and what else is known; for a line with neither those of the others,
 * since the operations that it serves are theirs, and those of single lines.
 */
function scenariosFor({ id, recordedFrom }: Revision): readonly Scenario[] {
  const recorded = foldersOf('recorded').includes(recordedFrom ?? '') ? [`recorded/${recordedFrom}`] : [];
  const own = [...foldersOf('.').filter((folder) => folder === id), ...recorded];
  const facts = scenariosOf('lines').filter(({ scenario }) => scenario.revision === id);
  const scenarios = (own.length > 0 ? own : [...NAMED, 'lines']).flatMap((folder) => scenariosOf(folder));
  return [...scenarios, ...facts].map(({ scenario }) => scenario);
}

/** The lines that nobody could record show every operation by scenarios of their own. */
describe.each(REVISIONS.filter(({ from }) => from.startsWith('0.4.')))('of $id, by facts alone', (revision) => {
  test('every operation that it serves is shown at work by a scenario of the line', () => {
    const own = scenariosOf('lines').map(({ scenario }) => scenario);
    const ofLine = own.filter((scenario) => scenario.revision === revision.id);
    expect(unshownOperations(revision, ofLine)).toEqual([]);
  });
});

describe.each(REVISIONS)('of $id', (revision) => {
  const scenarios = scenariosFor(revision);

  test('every operation that it serves is shown at work by a scenario', () => {
    expect(unshownOperations(revision, scenarios)).toEqual([]);
  });
});

describe.each(NAMED)('the scenarios of %s', (id) => {
  const revision = named(id);
  const scenarios = scenariosOf(id);
  const exchanges = scenarios.flatMap(({ scenario }) => scenario.exchanges.filter(isExchange));
  const served = operationsOf(revision).map(({ name }) => name);
  const errorRows = errorRowsOf(revision);

  test('are of this revision', () => {
    expect(scenarios.filter(({ scenario }) => scenario.revision !== id)).toEqual([]);
  });

  test('name no operation that it does not serve', () => {
    const known: readonly string[] = [...served, ...BESIDES];
    expect(exchanges.map(({ operation }) => operation).filter((name) => !known.includes(name))).toEqual([]);
  });

  test('show its panel, its answers across origins and its unmatched paths', () => {
    const expected = BESIDES.filter((name) => name !== 'panel' || revision.capabilities.panel !== undefined);
    expect(expected.filter((name) => !exchanges.some(({ operation }) => operation === name))).toEqual([]);
  });

  test('stand for every row of the error table, each operation of the row in a scenario with its mark', () => {
    const all = scenarios.map(({ scenario }) => scenario);
    expect(unshownFailures(revision, all)).toEqual([]);
  });

  test('carry no error mark that they do not show', () => {
    const untrue = errorRows.flatMap((row) =>
      marked(row.mark)
        .filter((scenario) => !row.operations.some(({ name }) => shows(scenario, name, row)))
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
    const all = scenarios.map(({ scenario }) => scenario);
    expect(unrefusedOperations(revision, all)).toEqual([]);
  });

  function marked(mark: string): readonly Scenario[] {
    return scenarios.map(({ scenario }) => scenario).filter(({ covers }) => covers?.includes(mark) === true);
  }
});

describe("the scenarios of Keyway's own interface", () => {
  const scenarios = scenariosOf('v1').map(({ scenario }) => scenario);

  test('show every operation of its table at work, and refused', () => {
    expect(unshownOwnOperations(scenarios)).toEqual([]);
  });

  test('call the operations that they name', () => {
    expect(misnamedOwnCalls(scenarios)).toEqual([]);
  });

  test.each(['v1.listUsage', 'v1.stopJob'])('without those of %s, it is named', (name) => {
    const others = scenarios.map((each) => ({
      ...each,
      exchanges: each.exchanges.filter((step) => !isExchange(step) || step.operation !== name),
    }));
    const operation = name.slice('v1.'.length);
    expect(unshownOwnOperations(others)).toEqual([`${operation}: at work`, `${operation}: refused`]);
  });
});

/** Any protected operation may show the access check. */
function isUnauthorizedElsewhere(scenario: Scenario, row: ErrorRow): boolean {
  if (row.mark !== 'error:unauthorized') return false;
  return scenario.exchanges.filter(isExchange).some(({ operation }) => shows(scenario, operation, row));
}

test('every mark is a row of a table here', () => {
  const known = [...NAMED.flatMap((id) => errorRowsOf(named(id))), ...TRANSITIONS, ...RULES].map(({ mark }) => mark);
  const marks = [...marksOf(NAMED.flatMap((id) => scenariosOf(id)))];
  expect(marks.filter((mark) => !known.includes(mark) && mark !== 'auth:token')).toEqual([]);
});

test('the static token is shown where a scheme takes one', () => {
  for (const id of ['earliest', 'current']) expect(marksOf(scenariosOf(id))).toContain('auth:token');
});

test('what is written by facts of the lines from 0.4.0 on names the sections of the facts', () => {
  const nameless = scenariosOf('lines').filter(
    ({ scenario: { revision, facts = [] } }) => revision.startsWith('0.4.') && facts.length === 0,
  );
  expect(nameless.map(({ file }) => file)).toEqual([]);
});

test('the plain-text 404 of static files is shown by the line that has it', () => {
  expect(marksOf(scenariosOf('lines'))).toContain('error:missingStaticFile');
});
