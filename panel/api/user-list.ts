import { parseExact } from '../text/exact-json.js';
import type { Steps } from '../text/steps.js';
import { dataOf } from './http.js';
import { readUsers, type User } from './wire.js';

/** Characters that are parsed in one step. */
const PIECE = 250_000;

/** Reads an answer that holds a list of keys, a long one in steps. Throws `ApiFailure`. */
export function* usersIn(text: string): Steps<readonly User[]> {
  return (yield* usersInPieces(text)) ?? readUsers(dataOf(text));
}

/**
 * Reads a list cut between its keys; null where it is short, or another than expected. The end of one key with the beginning of
 * the next cannot stand in a string: the quote of the first name would end it, and a letter follows that.
 */
function* usersInPieces(text: string): Steps<readonly User[] | null> {
  const start = text.indexOf('"data":[{"') + '"data":['.length;
  const end = text.lastIndexOf('}]') + 1;
  const [first] = /\{"\w+"/.exec(text.slice(start, start + 100)) ?? [];
  if (end - start < PIECE || first === undefined) return null;
  const users: User[] = [];
  try {
    const none = dataOf(text.slice(0, start) + text.slice(end));
    if (!Array.isArray(none) || none.length > 0) return null;
    for (let from = start; from < end; ) {
      const cut = text.indexOf(`},${first}`, from + PIECE);
      const to = cut < 0 || cut >= end ? end : cut + 1;
      for (const user of readUsers(parseExact(`[${text.slice(from, to)}]`))) users.push(user);
      from = to + 1;
      yield;
    }
  } catch {
    // The whole list tells what is wrong, and where.
    return null;
  }
  return users;
}
