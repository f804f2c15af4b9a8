import type { LoadAnswer, LoadConnection, LoadRequest } from './load-connection.js';
import type { Gate } from './load-gate.js';
import type { Ledger } from './load-ledger.js';
import { API_TOKEN, type LoadedServer, USERNAME } from './load-server.js';

/** What every lane works with. */
export interface Lanes {
  readonly server: LoadedServer;
  /** Whether hostile clients are about, which are kept apart by their addresses. */
  readonly hostile: boolean;
  readonly ledger: Ledger;
  readonly gate: Gate;
  readonly choose: (below: number) => number;
  /** Keys that are in the file from the start, and stay. */
  readonly baseKeys: readonly string[];
  /** Keys whose names are edited by hand. */
  readonly handKeys: readonly string[];
  /** Notes how long an answer took. */
  readonly measured: (kind: string, milliseconds: number) => void;
  /** Notes what must not be. */
  readonly failed: (words: string) => void;
}

/** One client: a step is one thing that it does, which the soak repeats. */
export interface Lane {
  step(): Promise<void>;
  close(): void;
}

export const API = '/panel/api';
export const BEARER = { authorization: `Bearer ${API_TOKEN}` };
export const JSON_BEARER = { ...BEARER, 'content-type': 'application/json' };

/** Sends and judges: an answer with another status than these is a failure. */
export function createAsking(lanes: Lanes, connection: LoadConnection) {
  return async (kind: string, request: LoadRequest, ...expected: readonly number[]): Promise<LoadAnswer | null> => {
    try {
      const answer = await connection.send(request);
      if (request.slowness === undefined) lanes.measured(kind, answer.took);
      if ((expected.length === 0 ? [200] : expected).includes(answer.status)) return answer;
      lanes.failed(`${request.method} ${request.path} was answered ${answer.status}: ${answer.body.subarray(0, 200)}`);
    } catch (error) {
      lanes.failed(`${request.method} ${request.path} was not answered: ${String(error)}`);
    }
    return null;
  };
}

/** The body of a login. */
export const loginBody = (password: string) => JSON.stringify({ username: USERNAME, password });
