import {
  another,
  createScanner,
  enter,
  expectName,
  skipValue,
  stringValue,
  Token,
  toValue,
} from '../../wire/json/scanner.js';
import { membersOf, readElement } from '../element.js';
import type { KeyList } from '../key-list.js';
import { removeItems } from '../sequence.js';
import { type Splice, splice } from '../splice.js';
import type { Losses } from './losses.js';
import { indexesOf } from './text.js';

/**
 * Renames the member that holds the key in every element. A member that has the new name already means nothing in the
 * old layout and would be the key in the new one, so it is dropped and reported as lost.
 */
export function renameKeys(
  bytes: Buffer,
  list: KeyList,
  place: string,
  [from, to]: readonly [string, string],
  losses: Losses,
): readonly Splice[] {
  const splices: Splice[] = [];
  for (const [index, start] of list.starts.entries()) {
    const names = keyNames(bytes, start, [from, to]);
    for (const { name, at, end } of names) if (name === from) splices.push(splice(at, end, JSON.stringify(to)));
    if (!names.some(({ name }) => name === to)) continue;
    losses.add(`${place}[${index}].${to}`, `in the other layout this member is the key; it is left out`);
    const element = readElement(bytes, start);
    splices.push(...removeItems(bytes, membersOf(element), indexesOf(element, [to])));
  }
  return splices;
}

/** Lists the members with these names in an element that is an object. */
function keyNames(bytes: Buffer, start: number, wanted: readonly string[]) {
  const scanner = createScanner(bytes, true, start);
  const names: { readonly name: string; readonly at: number; readonly end: number }[] = [];
  if (scanner.kind !== Token.openObject) return names;
  for (let more = enter(scanner); more; more = another(scanner, Token.closeObject)) {
    expectName(scanner);
    const name = stringValue(scanner);
    if (wanted.includes(name)) names.push({ name, at: scanner.start, end: scanner.end });
    toValue(scanner);
    skipValue(scanner);
  }
  return names;
}
