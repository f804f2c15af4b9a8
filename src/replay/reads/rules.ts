import { isJsonObject, type JsonValue } from '../../wire/json/json.js';
import { type OperationName, operationsOf } from '../../wire/operations.js';
import type { Revision } from '../../wire/traits/revision.js';
import { mapTexts } from '../format/map-texts.js';
import { lookAtAuth } from './access.js';
import { lookAtOperation } from './answers.js';
import { lookAtConfiguration } from './configuration.js';
import { lookAtOnline, lookAtShareLink } from './keys.js';
import type { Look } from './look.js';
import { type At, dataOf, type Found, NEEDS_CREDENTIAL, type ReadDifference, snapshots } from './looking.js';
import { lookAtNoPath, lookAtPanel } from './panel.js';
import { lookAtCors, lookAtPresence } from './presence.js';

/** The result of one rule of a revision's record on a server. */
export type Finding = ReturnType<typeof findingOf>;

/** One rule, looked at in the light of one revision. */
interface Rule {
  readonly name: string;
  readonly title: string;
  /** A remark on differences; only a rule that holds a server against itself has one, and tells nothing of its line. */
  readonly hint?: string;
  look(at: At): Promise<Found>;
}

/**
 * Holds a server against a revision's record, by reads alone. One finding for each rule and each read operation, in the same
 * order every time; where nothing answers at the revision's API root, the one that says so. Rejects when there is no answer.
 */
export async function findingsOf(look: Look, revision: Revision): Promise<readonly Finding[]> {
  const { api, base } = revision.root.paths(look.webpath);
  const at: At = { look, revision, api, base };
  const root = findingOf(ROOT, null, await ROOT.look(at));
  if (root.outcome === 'differs') return [root];
  const findings: Finding[] = [root];
  for (const rule of RULES) findings.push(findingOf(rule, null, await rule.look(at)));
  for (const operation of operationsOf(revision).filter(({ effect }) => effect.kind === 'reads')) {
    const rule = { name: operation.name, title: operation.summary };
    findings.push(findingOf(rule, operation.name, await lookAtOperation(operation, at)));
  }
  findings.push(findingOf(UPTIME, null, await UPTIME.look(at)));
  return Promise.all(findings.map((each) => withoutAnyKey(each, at)));
}

/** Longer keys first, of which another may be a part. */
async function withoutAnyKey(finding: Finding, at: At): Promise<Finding> {
  if (finding.differences.length === 0) return finding;
  const keys = (await snapshots(at)).flatMap(({ access_key: key }) => (typeof key === 'string' ? [key] : []));
  const sorted = keys.toSorted((a, b) => b.length - a.length);
  return { ...finding, differences: finding.differences.map((each) => withoutKeys(each, sorted)) };
}

export function findingOf(rule: Omit<Rule, 'look'>, operation: OperationName | null, found: Found) {
  const { name, title, hint = null } = rule;
  const unseen = 'unseen' in found ? found.unseen : null;
  const differences: readonly ReadDifference[] = 'unseen' in found ? [] : found;
  const seen = differences.length === 0 ? 'holds' : 'differs';
  const outcome: 'holds' | 'differs' | 'unseen' = unseen === null ? seen : 'unseen';
  return {
    /** Name of the rule, or of the operation whose answer was looked at. */
    rule: name,
    title,
    /** The operation that was called; null for a rule. */
    operation,
    /** `unseen`: no read showed it. */
    outcome,
    /** The reason why it was not seen; null otherwise. */
    reason: unseen,
    differences,
    /** A remark on the differences; null for none. */
    hint: outcome === 'differs' ? hint : null,
    /** True where a difference says that the server speaks another line. */
    tellsLine: hint === null,
  };
}

/** The rule that everything else rests on. */
export const API_ROOT_RULE = 'api-root';

const ROOT: Rule = {
  name: API_ROOT_RULE,
  title: 'the API answers at its root',
  async look({ look, api }) {
    const path = `${api}/server/status`;
    const { answer, envelope } = await look.read({ method: 'GET', path, authorization: null });
    if (envelope !== null && (answer.status === 200 || answer.status === 401)) return [];
    const actual = `${answer.status}, ${envelope === null ? 'no envelope' : 'an envelope'}`;
    return [{ request: `GET ${path}`, where: 'status', expected: '200 or 401, an envelope', actual }];
  },
};

const RULES: readonly Rule[] = [
  { name: 'operations', title: 'exactly its operations are served', look: lookAtPresence },
  { name: 'auth', title: 'who is let in', look: lookAtAuth },
  {
    name: 'configuration',
    title: 'the configuration and what goes by it',
    hint: 'servers read rules and DNS settings of their file at their start alone: if it was changed since, start the server anew',
    look: lookAtConfiguration,
  },
  { name: 'online', title: 'when a key is online', look: lookAtOnline },
  { name: 'share-link', title: 'share links, and the client configuration beside them', look: lookAtShareLink },
  { name: 'panel', title: 'the panel and its missing files', look: lookAtPanel },
  { name: 'no-such-path', title: 'a path that nobody serves', look: lookAtNoPath },
  { name: 'cors', title: 'pages of other origins may call', look: lookAtCors },
];

/** Looked at last: what was read meanwhile took some of the second that it may have to wait. */
const UPTIME: Rule = { name: 'uptime', title: 'the uptime goes on', look: lookAtUptime };

/** The names of all rules, those of operations apart. */
export const RULE_NAMES: readonly string[] = [ROOT, ...RULES, UPTIME].map(({ name }) => name);

/** The most times that the status is asked until its uptime has grown, and the milliseconds before each. */
const LOOKS = 24;
const EVERY = 100;

/** The uptime goes on, as whole seconds do. */
async function lookAtUptime(at: At): Promise<Found> {
  if ((await at.look.passing(at.api)) === undefined) return { unseen: NEEDS_CREDENTIAL };
  let before = uptimeIn(await dataOf('getStatus', at));
  const first = before;
  if (first === null) return { unseen: 'the status tells none' };
  for (let look = 1; look <= LOOKS; look += 1) {
    const turn = `uptime ${look}`;
    await at.look.pauseBefore(turn, EVERY);
    const uptime = uptimeIn(await dataOf('getStatus', at, { turn }));
    // One that was started anew meanwhile goes on from less.
    if (uptime !== null && before !== null && uptime > before) return [];
    before = uptime;
  }
  const expected = `more than ${first} after ${(LOOKS * EVERY) / 1000} s`;
  return [{ request: 'GET /server/status', where: 'body /data/uptime_seconds', expected, actual: before ?? undefined }];
}

function uptimeIn(status: JsonValue | undefined): bigint | null {
  const uptime = isJsonObject(status) ? status.uptime_seconds : undefined;
  return typeof uptime === 'bigint' ? uptime : null;
}

/** Shown instead of a key, since whoever knows one is let in. */
const HIDDEN = '<key>';

/** The same difference without any of these keys where it shows them. */
function withoutKeys(difference: ReadDifference, keys: readonly string[]): ReadDifference {
  const { expected, actual } = difference;
  const hidden = (value: JsonValue | undefined) =>
    value === undefined ? value : mapTexts(value, (text) => keys.reduce<string>(withoutKey, text));
  return { ...difference, expected: hidden(expected), actual: hidden(actual) };
}

/** Within other words a key is none: a short one would take their letters. */
function withoutKey(text: string, key: string): string {
  if (key === '' || !text.includes(key)) return text;
  const parts = text.split(key);
  return parts.reduce((before, after) => {
    const isWord = /[\p{L}\p{N}]$/u.test(before) || /^[\p{L}\p{N}]/u.test(after);
    return before + (isWord ? key : HIDDEN) + after;
  });
}
