import { sameFields } from '../../core/keys/key-record.js';
import type { AccessKey } from '../../core/model.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/json/json.js';
import { withKeyLists } from '../format/given-state.js';
import { sameJson } from '../format/json-difference.js';
import { type ComparedPart, inOrder, type SavedState } from './saved-state.js';

const PARTS: readonly {
  readonly part: ComparedPart;
  readonly name: string;
  readonly changes: (before: SavedState, after: SavedState) => readonly string[];
}[] = [
  { part: 'keys', name: 'keys', changes: (before, after) => keyChanges(before.keys, after.keys) },
  {
    part: 'rules',
    name: 'outbound rules',
    changes: (before, after) => (sameJson(before.rules, after.rules) ? [] : ['the outbound rules are not as before']),
  },
  {
    part: 'dns',
    name: 'DNS settings',
    changes: (before, after) => (sameJson(before.dns, after.dns) ? [] : ['the DNS settings are not as before']),
  },
  {
    part: 'config',
    name: 'configuration',
    changes: (before, after) => configurationChanges(before.config, after.config),
  },
];

/**
 * Lists what has changed or can no longer be read, one sentence each, without naming any key. A part that could not be
 * read before is not compared.
 */
export function stateChanges(before: SavedState, after: SavedState): readonly string[] {
  return PARTS.flatMap(({ part, name, changes }) => {
    if (before.unread[part] !== undefined) return [];
    const why = after.unread[part];
    return why === undefined ? changes(before, after) : [`the ${name} could not be read: ${why}`];
  });
}

/** Tells whether keys were added or removed, or changed their name or limit. */
export function keysChanged(before: SavedState, after: SavedState): boolean {
  return keyChanges(before.keys, after.keys).length > 0;
}

/** Returns the sentences of `stateChanges` that concern only keys, in the list and in the configuration. */
export function keyChangesOnly(before: SavedState, after: SavedState): readonly string[] {
  const isOfKeys = sameJson(withoutKeyLists(before.config), withoutKeyLists(after.config));
  return [
    ...keyChanges(before.keys, after.keys),
    ...(isOfKeys ? configurationChanges(before.config, after.config) : []),
  ];
}

function withoutKeyLists(config: JsonObject | null): JsonValue {
  if (config === null) return null;
  const { access_keys: _, inbounds, ...others } = config;
  if (!Array.isArray(inbounds)) return { ...others, inbounds: inbounds ?? null };
  return {
    ...others,
    inbounds: inbounds.map((each: JsonValue) => (isJsonObject(each) ? { ...each, users: null } : each)),
  };
}

function keyChanges(before: readonly AccessKey[], after: readonly AccessKey[]): readonly string[] {
  const [left, right] = [before, after].map((keys) => new Map(keys.map((each) => [each.accessKey, each])));
  const missing = before.filter(({ accessKey }) => right?.has(accessKey) !== true).length;
  const fresh = after.filter(({ accessKey }) => left?.has(accessKey) !== true);
  const changed = after.filter((each) => !sameFields(left?.get(each.accessKey) ?? each, each)).length;
  const empty = fresh.some(({ accessKey }) => accessKey === '') ? ', the empty key among them' : '';
  return [
    ...(missing > 0 ? [`keys that stood there and are gone: ${missing}`] : []),
    ...(fresh.length > 0 ? [`keys that were not there before: ${fresh.length}${empty}`] : []),
    ...(changed > 0 ? [`keys with another name or limit than before: ${changed}`] : []),
  ];
}

function configurationChanges(before: JsonObject | null, after: JsonObject | null): readonly string[] {
  if (before === null || after === null) return [];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const [left, right] = [withKeyLists(before, inOrder), withKeyLists(after, inOrder)];
  const changed = names.filter((name) => !sameJson(left[name], right[name]));
  return changed.length === 0 ? [] : [`the configuration is not as before: ${changed.join(', ')}`];
}
