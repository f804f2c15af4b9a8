import { isDeepStrictEqual } from 'node:util';
import { resolveRevision } from '../../../revisions/index.js';
import { type Loss, lossesShown } from '../../../src/client/losses.js';
import { givenStateOf } from '../../../src/lab/format/given-state.js';
import { differenceInWords, jsonDifferences } from '../../../src/lab/format/json-difference.js';
import { isExchange, type Scenario } from '../../../src/lab/format/scenario.js';
import { type Difference, playScenario } from '../../../src/lab/play/play.js';
import { writeJson } from '../../../src/wire/json/write-json.js';
import type { Subject } from '../../../src/wire/operations/operation.js';
import { OPERATIONS, type OperationName, operationNamed } from '../../../src/wire/operations.js';
import type { Revision } from '../../../src/wire/traits/revision.js';
import { foldersOf, scenariosOf } from '../../acceptance/pack.js';
import { PATIENT, stageScenario } from '../../acceptance/stage.js';
import { type OpenFront, stageInFront } from './stage.js';

/** A scenario by its place in the pack. */
export interface NamedScenario {
  readonly file: string;
  readonly scenario: Scenario;
}

/** One place of an answer, or of the file behind, that is another over an upstream than over a file. */
export interface Found {
  readonly line: Revision;
  readonly northbound: Revision;
  readonly file: string;
  /** Of the step; for the file afterwards the last write of what differs there. */
  readonly operation: OperationName;
  /** The member of the answer's data, such as `name` or `endpoint.host`, or what a comparison calls its place. */
  readonly member: string;
  /** For people. */
  readonly difference: string;
}

const REVISIONS_BY_FOLDER = ['earliest', 'dns', 'current', 'lines'];

/** Every scenario that says what has to be there before it. */
function allScenarios(): readonly NamedScenario[] {
  const recorded = foldersOf('recorded').filter((name) => /^\d/.test(name));
  return [...REVISIONS_BY_FOLDER, ...recorded.map((name) => `recorded/${name}`)].flatMap(scenariosOf);
}

const all = allScenarios().map((named) => {
  const resolved = resolveRevision(named.scenario.revision);
  return { ...named, of: resolved.ok ? resolved.revision.id : null };
});

/** What a revision is played with: its own scenarios, with those of `earliest` where facts alone are known of it. */
export function scenariosFor({ id }: Revision): readonly NamedScenario[] {
  const own = all.filter(({ of }) => of === id);
  const isWhole = own.some(({ scenario }) => scenario.source !== 'facts');
  return isWhole ? own : [...own, ...all.filter(({ of }) => of === 'earliest')];
}

/** The operations of 0.4.6 and later that change what stands in a configuration alone. */
const KEPT_IN_FILE: ReadonlySet<string> = new Set(['putDnsSettings', 'putOvernet']);

/** Why a scenario cannot be played over a line, or null where it can. */
export function whyNot({ scenario }: NamedScenario, { capabilities, storing }: Revision): string | null {
  if (capabilities.audit?.access === 'protected' && asksForAuditOpenly(scenario))
    return 'the server of the line protects its audit list';
  if (changesCredentials(scenario)) return 'it writes credentials into the file: those of a front are its own';
  if (capabilities.bulk === true && !storing.startsWithKeys && changesBulkKey(scenario))
    return 'a key named bulk is neither renamed nor removed in front of the line';
  const subjects = new Set(scenario.exchanges.filter(isExchange).flatMap(({ operation }) => subjectOf(operation)));
  const has = (subject: Subject) => subjects.has(subject);
  const isKept = scenario.exchanges.filter(isExchange).some(({ operation }) => KEPT_IN_FILE.has(operation));
  if (capabilities.config === undefined && (has('configuration') || has('rules') || has('dns') || isKept))
    return 'the line has no configuration in its API';
  const isInFileAlone =
    (has('rules') && capabilities.rules === undefined) || (has('dns') && capabilities.dns === undefined) || isKept;
  if (isInFileAlone && scenario.exchanges.some((step) => 'breakFile' in step))
    return 'what the line has in its configuration alone cannot be reached while that cannot be read';
  return null;
}

/** Asks for the audit list without a credential, and is let in by its revision. */
function asksForAuditOpenly({ exchanges }: Scenario): boolean {
  return exchanges
    .filter(isExchange)
    .filter(({ operation }) => subjectOf(operation).includes('audit'))
    .some(({ request, response }) => request.headers?.authorization === undefined && response.status !== 401);
}

function changesBulkKey({ exchanges }: Scenario): boolean {
  return exchanges.some(
    (step) => isExchange(step) && /^(PUT|DELETE) .*\/users\/bulk$/.test(`${step.request.method} ${step.request.path}`),
  );
}

function subjectOf(operation: string): readonly Subject[] {
  return OPERATIONS.flatMap(({ name, subject }) => (name === operation ? [subject] : []));
}

/** Whom a Keyway in front lets in is said at its own start: what is written into the file behind does not change it. */
function changesCredentials(scenario: Scenario): boolean {
  const before = givenStateOf(scenario).credentials;
  return scenario.exchanges.some((step) => {
    if (!('handEdit' in step)) return false;
    const { root, credentials } = givenStateOf({ ...scenario, given: { configText: [step.handEdit] } });
    return root !== null && !isDeepStrictEqual(credentials, before);
  });
}

/** Where the answers over an upstream of the line differ from those of the same revision over a file. */
export async function play(
  { file, scenario }: NamedScenario,
  northbound: Revision,
  line: Revision,
  open: OpenFront,
): Promise<readonly Found[]> {
  const overFileOf = await overFile(file, scenario, northbound);
  const same = new Set(overFileOf.map(textOf));
  const staged = await stageInFront(scenario, northbound.reportedVersion, line.reportedVersion, open);
  try {
    const found = await playScenario(scenario, { ...staged, ...PATIENT });
    return found
      .filter((difference) => !same.has(textOf(difference)))
      .flatMap((difference) => asOverFile(difference, overFileOf))
      .map((difference) => ({
        line,
        northbound,
        file,
        ...placeOf(scenario, difference),
        difference: `step ${difference.step}: ${differenceInWords(difference)}`,
      }));
  } finally {
    await staged.close();
  }
}

/**
 * A difference from the answer over a file: where that differs at the same place from what the scenario says, being of
 * another revision, from what it has there, member by member.
 */
function asOverFile(difference: Difference, overFile: readonly Difference[]): readonly Difference[] {
  const { step, where, actual } = difference;
  const there = overFile.find((each) => each.step === step && each.where === where);
  if (there?.actual === undefined || actual === undefined) return [difference];
  const comparison = { unordered: [], bindings: new Map() };
  return jsonDifferences(there.actual, actual, comparison).map(({ path, ...values }) => ({
    step,
    where: `${where}${path}`,
    ...values,
  }));
}

const known = new Map<string, Promise<readonly Difference[]>>();

/** What the scenario differs in over a file, as the same version: nothing for a written one of the revision, the register's for a recorded one. */
function overFile(file: string, scenario: Scenario, { reportedVersion }: Revision): Promise<readonly Difference[]> {
  const name = `${reportedVersion} ${file}`;
  const played = known.get(name) ?? playOverFile(scenario, reportedVersion);
  known.set(name, played);
  return played;
}

async function playOverFile(scenario: Scenario, version: string): Promise<readonly Difference[]> {
  const staged = await stageScenario(scenario, version, { files: 'memory' });
  try {
    return await playScenario(scenario, { ...staged, ...PATIENT });
  } finally {
    await staged.close();
  }
}

/** Generated keys and the time since the start are others in every run. */
const GENERATED = /"(?:(?:[0-9a-f]{16}){1,2}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"/g;
const UPTIME = /(?<="uptime_seconds":)\d+/;

/** What is the same in every run. */
export function textOf({ step, where, actual }: Difference): string {
  return `${step} ${where} ${actual === undefined ? '' : writeJson(actual).replace(GENERATED, '"<key>"').replace(UPTIME, '0')}`;
}

type Place = Pick<Found, 'operation' | 'member'>;

function placeOf({ exchanges }: Scenario, difference: Difference): Place {
  const { step, where } = difference;
  const members = where
    .split('/')
    .slice(1)
    .filter((part) => !/^\d+$/.test(part));
  if (step === 'then') {
    const [root = ''] = members;
    const isWhole = root === 'dns' && exchanges.some((each) => isExchange(each) && each.operation === 'putDnsSettings');
    return isWhole
      ? { operation: 'putDnsSettings', member: root }
      : { operation: writerOf(root), member: members.at(-1) ?? where };
  }
  const played = exchanges[step - 1];
  const operation = played !== undefined && isExchange(played) ? played.operation : '';
  const [, ...inData] = members[0] === 'links' ? ['', ...members] : members;
  const member = inData.length > 0 ? inData.join('.') : undefined;
  return {
    operation: operationNamed(operation as OperationName).name,
    member: linkPart(difference) ?? member ?? where,
  };
}

/** Which operation writes a member of the file's root. */
function writerOf(member: string): OperationName {
  if (member === 'outbound' || member === 'routing') return 'putRules';
  if (member === 'overnet') return 'putOvernet';
  return member === 'dns' ? 'putDnsConfig' : 'putConfig';
}

const LINK = /^body \/(?:data|links)(?:\/(?:tls|udp))?$/;

/** `query` where two share links have no other difference, `link` where one as a whole is another. */
function linkPart({ where, expected, actual }: Difference): string | undefined {
  if (!LINK.test(where) || typeof expected !== 'string' || typeof actual !== 'string') return undefined;
  const [a = '', b = ''] = [expected, actual].map((link) => link.split('?')[0]);
  if (!a.includes('://')) return undefined;
  if (a === b) return 'query';
  return where === 'body /data' ? 'link' : undefined;
}

/** The entry of the list of losses that says so; undefined where none does. */
export function lossOf({ line, northbound, operation, member }: Found): Loss | undefined {
  return lossesShown(line, [northbound]).find((loss) => loss.operation === operation && loss.member === member);
}
