import type { JsonValue } from '../../wire/json/json.js';
import type { Change } from '../compare/changes.js';
import { CHANGE_KINDS, type ChangeKind } from '../compare/line-changes.js';
import { valueInWords } from '../format/json-difference.js';

const WORDS: Readonly<Record<ChangeKind, string>> = {
  reads: 'reads that fail',
  gone: 'gone, or refused',
  new: 'new, or other',
};

/** The most characters of a value. */
const MOST = 60;

/** Lists what changes for each client, the most severe first. */
export function changeLines(changes: readonly Change[]): readonly string[] {
  const clients = [...new Set(changes.map(({ client }) => client))];
  return clients.flatMap((client) => [client, ...kindLines(changes.filter((each) => each.client === client))]);
}

function kindLines(changes: readonly Change[]): readonly string[] {
  return CHANGE_KINDS.flatMap((kind) => {
    const found = changes.filter((each) => each.kind === kind);
    return found.length === 0 ? [] : [`  ${WORDS[kind]}`, ...found.map((each) => `    ${inWords(each)}`)];
  });
}

function inWords({ operation, where, expected, actual, because, met, calls }: Change): string {
  const change =
    where === 'operation'
      ? `${operation}: ${shown(actual)}`
      : `${operation} ${where}: ${shown(expected)} → ${shown(actual)}`;
  return `${change}, ${met} of ${calls} calls${because === null ? '' : `   (${because})`}`;
}

function shown(value: JsonValue | undefined): string {
  const isWords = typeof value === 'string' && /^(?:(?:not )?served|\[…\]|\{…\})$/.test(value);
  return isWords ? value : valueInWords(value).slice(0, MOST);
}
