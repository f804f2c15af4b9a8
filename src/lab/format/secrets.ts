import type { Answer, Caller } from '../../client/call.js';
import type { TargetCredentials } from '../../client/signed-in-caller.js';
import { dataIn, isJsonObject, jsonIn } from '../../wire/json/json.js';
import { writeJson } from '../../wire/json/write-json.js';
import { matchOperation } from './effects.js';

/** The run's own credentials, which replace those removed from a recording. */
export interface FillIn {
  readonly authorization: string | null;
  readonly credentials: TargetCredentials;
  readonly apiRoot: string;
}

/** Marks for secrets of a recording that no answer contained; they are replaced before the request is sent. */
export const STAND_IN = {
  token: 'keyway-stand-in-token',
  username: 'operator',
  password: 'keyway-stand-in-password',
} as const;

/** Wraps a caller so that it sends the run's own credentials in place of a recording's. */
export function fillCredentials(caller: Caller, { authorization, credentials, apiRoot }: FillIn): Caller {
  let held = authorization;
  return {
    close: () => caller.close(),
    async send(call) {
      const headers = new Map(
        [...call.headers].map(([name, value]) => {
          const isStandIn = name.toLowerCase() === 'authorization' && value.includes(STAND_IN.token);
          return [name, isStandIn && held !== null ? held : value];
        }),
      );
      const path = call.path.startsWith(apiRoot) ? call.path.slice(apiRoot.length) : '';
      const isLogin = matchOperation(call.method, path)?.operation.name === 'login';
      const body = isLogin && call.body !== undefined ? withOperator(call.body, credentials) : call.body;
      const answer = await caller.send({ ...call, headers, body });
      // A session that the scenario begins ends the run's own session.
      if (isLogin && answer.status === 200 && held !== `Bearer ${credentials.token}`) held = bearerIn(answer) ?? held;
      return answer;
    },
  };
}

function bearerIn({ body }: Answer): string | null {
  const data = dataIn(body);
  return isJsonObject(data) && typeof data.token === 'string' ? `Bearer ${data.token}` : null;
}

function withOperator(body: Buffer, { operator }: TargetCredentials): Buffer {
  const value = jsonIn(body);
  if (operator === null || !isJsonObject(value) || value.password !== STAND_IN.password) return body;
  return Buffer.from(writeJson({ ...value, ...operator }));
}
