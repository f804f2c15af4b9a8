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

/** One rule that a server is checked by, for one revision. */
interface Rule {
  readonly name: string;
  readonly title: string;
  /**
   * A remark on differences. Only a rule that compares a server with itself has one; it reveals nothing about the
   * server's line.
   */
  readonly hint?: string;
  look(at: At): Promise<Found>;
}

/**
 * Checks a server against a revision's record, by reads alone. Returns one finding for each rule and each read
 * operation, always in the same order; if nothing answers at the revision's API root, only the finding about that.
 * Rejects if there is no answer.
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

/** Replaces longer keys first, because they may contain others. */
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
    /** Name of the rule, or of the operation whose answer was checked. */
    rule: name,
    title,
    /** The operation that was called; null for a rule. */
    operation,
    /** `unseen`: no read showed it. */
    outcome,
    /** Why it was not seen; otherwise null. */
    reason: unseen,
    differences,
    /** A remark on the differences; null for none. */
    hint: outcome === 'differs' ? hint : null,
    /** True if a difference means that the server speaks another line. */
    tellsLine: hint === null,
  };
}

/** The rule that all others depend on. */
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
    hint: 'servers read rules and DNS settings of their file at their start alone: if it was changed since, restart the server',
    look: lookAtConfiguration,
  },
  { name: 'online', title: 'when a key is online', look: lookAtOnline },
  { name: 'share-link', title: 'share links, and the client configuration beside them', look: lookAtShareLink },
  { name: 'panel', title: 'the panel and its missing files', look: lookAtPanel },
  { name: 'no-such-path', title: 'a path that nobody serves', look: lookAtNoPath },
  { name: 'cors', title: 'pages of other origins may call', look: lookAtCors },
];

/** Checked last, because earlier reads use up part of the second that it may have to wait. */
const UPTIME: Rule = { name: 'uptime', title: 'the uptime goes on', look: lookAtUptime };

/** The names of all rules, without those of operations. */
export const RULE_NAMES: readonly string[] = [ROOT, ...RULES, UPTIME].map(({ name }) => name);

/** The most times that the status is read until its uptime has grown, and the milliseconds before each. */
const LOOKS = 24;
const EVERY = 100;

/** Checks that the uptime grows, in whole seconds. */
async function lookAtUptime(at: At): Promise<Found> {
  if ((await at.look.passing(at.api)) === undefined) return { unseen: NEEDS_CREDENTIAL };
  let before = uptimeIn(await dataOf('getStatus', at));
  const first = before;
  if (first === null) return { unseen: 'the status tells none' };
  for (let look = 1; look <= LOOKS; look += 1) {
    const turn = `uptime ${look}`;
    await at.look.pauseBefore(turn, EVERY);
    const uptime = uptimeIn(await dataOf('getStatus', at, { turn }));
    // If the server was restarted meanwhile, it goes on from less.
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

/** Shown in place of a key, because a key admits anyone who knows it. */
const HIDDEN = '<key>';

/** Hides these keys in a difference. */
function withoutKeys(difference: ReadDifference, keys: readonly string[]): ReadDifference {
  const { expected, actual } = difference;
  const hidden = (value: JsonValue | undefined) =>
    value === undefined ? value : mapTexts(value, (text) => keys.reduce<string>(withoutKey, text));
  return { ...difference, expected: hidden(expected), actual: hidden(actual) };
}

/** Hides a key, but not within other words, where a short one would match by chance. */
function withoutKey(text: string, key: string): string {
  if (key === '' || !text.includes(key)) return text;
  const parts = text.split(key);
  return parts.reduce((before, after) => {
    const isWord = /[\p{L}\p{N}]$/u.test(before) || /^[\p{L}\p{N}]/u.test(after);
    return before + (isWord ? key : HIDDEN) + after;
  });
}
