import { isJsonObject, type JsonObject, type JsonValue } from '../wire/json/json.js';
import type { GivenKey } from './given-state.js';
import { sameJson } from './json-difference.js';
import { type SavedState, sameKeyLists } from './saved-state.js';

/** What is not as it was before, one sentence each; nobody's key is named. */
export function stateChanges(before: SavedState, after: SavedState): readonly string[] {
  return [
    ...keyChanges(before.keys, after.keys),
    ...(sameJson(before.rules, after.rules) ? [] : ['the outbound rules are not as before']),
    ...(sameJson(before.dns, after.dns) ? [] : ['the DNS settings are not as before']),
    ...configurationChanges(before.config, after.config),
  ];
}

function keyChanges(before: readonly GivenKey[], after: readonly GivenKey[]): readonly string[] {
  const [left, right] = [before, after].map((keys) => new Map(keys.map((each) => [each.accessKey, each])));
  const missing = before.filter(({ accessKey }) => right?.has(accessKey) !== true).length;
  const fresh = after.filter(({ accessKey }) => left?.has(accessKey) !== true);
  const changed = after.filter((each) => isChanged(left?.get(each.accessKey), each)).length;
  const empty = fresh.some(({ accessKey }) => accessKey === '') ? ', the empty key among them' : '';
  return [
    ...(missing > 0 ? [`keys that stood there and are gone: ${missing}`] : []),
    ...(fresh.length > 0 ? [`keys that were not there before: ${fresh.length}${empty}`] : []),
    ...(changed > 0 ? [`keys with another name or limit than before: ${changed}`] : []),
  ];
}

function isChanged(before: GivenKey | undefined, { name, limitBytes }: GivenKey): boolean {
  return before !== undefined && (before.name !== name || before.limitBytes !== limitBytes);
}

function configurationChanges(before: JsonObject | null, after: JsonObject | null): readonly string[] {
  if (before === null || after === null)
    return before === after ? [] : [`the configuration ${after === null ? 'cannot be read any more' : 'is another'}`];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const changed = names.filter((name) => !sameMember(name, before[name], after[name]));
  return changed.length === 0 ? [] : [`the configuration is not as before: ${changed.join(', ')}`];
}

function sameMember(name: string, before: JsonValue | undefined, after: JsonValue | undefined): boolean {
  if (name === 'access_keys') return sameKeyLists(before, after);
  if (name !== 'inbounds' || !Array.isArray(before) || !Array.isArray(after)) return sameJson(before, after);
  return before.length === after.length && before.every((each, index) => sameInbound(each, after[index]));
}

function sameInbound(before: JsonValue, after: JsonValue | undefined): boolean {
  if (!isJsonObject(before) || after === undefined || !isJsonObject(after)) return sameJson(before, after);
  const [{ users: left, ...one }, { users: right, ...other }] = [before, after];
  return sameKeyLists(left, right) && sameJson(one, other);
}
