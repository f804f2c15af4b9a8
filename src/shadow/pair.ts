import type { Answer } from '../client/call.js';
import { type MatchedRequest, matchOperation } from '../replay/format/effects.js';
import { decompressed, isBelow } from '../replay/record/describe.js';
import type { Revision } from '../wire/traits/revision.js';
import type { AskedServer } from './asked-server.js';
import type { ShadowSide } from './sides.js';
import type { Passed } from './traffic.js';

/** The target and its shadow, once both are known. */
export interface Pair {
  readonly target: AskedServer;
  readonly shadow: ShadowSide;
}

/** Ids of the audit entries that each server had when the two were begun with: no configuration holds them. */
export type OldEntries = Readonly<Record<'target' | 'shadow', ReadonlySet<string>>>;

export async function oldEntriesOf({ target, shadow }: Pair): Promise<OldEntries> {
  return { target: await target.auditIds(), shadow: await shadow.server.auditIds() };
}

export function linesOf({ target, shadow }: Pair): readonly Revision[] {
  return [target.found.revision, shadow.server.found.revision];
}

/** Matches a request with an operation below the target's API root; below any while the target is unknown. */
export function matchedIn({ method, path }: Passed, pair: Pair | null): MatchedRequest | null {
  if (pair === null) return matchOperation(method, /\/api(\/.*)$/s.exec(path)?.[1] ?? path);
  const { apiRoot } = pair.target.found.target;
  return isBelow(path, apiRoot) ? matchOperation(method, path.slice(apiRoot.length)) : null;
}

/** Returns the target's answer, without the compression that the client asked for. */
export function answerOf(passed: Passed): Answer {
  const { status, responseHeaders: headers, responseBody } = passed;
  return { status, headers, body: decompressed(passed) ?? responseBody, firstByteMilliseconds: 0 };
}
