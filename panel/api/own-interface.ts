import { type ApiFailure, hasFailed } from './failure.js';
import { dataOf, type HttpAnswer, type HttpCall, type StreamedEvent } from './http.js';

/** A call below the root of Keyway's own interface. */
export type OwnCall = Omit<HttpCall, 'authorization'>;

/** The kinds of calls that a credential is let in for: all of them, those about keys and jobs, or none. */
export type Reach = 'all' | 'keys' | 'none';

/** Returns true where calls about keys are let in; a null reach is not known yet. */
export const reachesKeys = (reach: Reach | null): boolean => reach === 'all' || reach === 'keys';

/** Keyway's own interface (docs/api.md), with the credential that stands. */
export interface OwnInterface {
  /** Rejects with `ApiFailure`, whose `envelope.code` names the failure. */
  exchange(call: OwnCall): Promise<HttpAnswer>;
  /** Returns the `data` of the answer. Rejects as `exchange` does. */
  ask(call: OwnCall): Promise<unknown>;
  /** Reads a stream until it ends, or the signal does. Throws as `exchange` does, but that a refused credential ends no session. */
  stream(path: string, signal: AbortSignal): AsyncIterable<StreamedEvent>;
}

export function createOwnInterface({ exchange, stream }: Pick<OwnInterface, 'exchange' | 'stream'>): OwnInterface {
  return { exchange, stream, ask: async (call) => dataOf((await exchange(call)).text) };
}

/** Learns by calls that change nothing how far the credential reaches. Rejects with `ApiFailure` where that cannot be told. */
export async function learnReach(own: OwnInterface): Promise<Reach> {
  if (await isLetIn(own, '/tokens')) return 'all';
  return (await isLetIn(own, '/jobs?limit=1')) ? 'keys' : 'none';
}

async function isLetIn(own: OwnInterface, path: string): Promise<boolean> {
  try {
    await own.ask({ path });
    return true;
  } catch (error) {
    if (isNotLetIn(error)) return false;
    throw error;
  }
}

/** Returns true where the interface, or this call of it, is not for the credential. */
export function isNotLetIn(error: unknown): error is ApiFailure {
  return hasFailed(error, 'absent', 'page', 'refused');
}
