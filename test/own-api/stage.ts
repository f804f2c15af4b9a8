import type { FastifyInstance, InjectOptions } from 'fastify';
import type { GatewayOptions } from '../../src/index.js';
import { type JsonValue, parseJson } from '../../src/wire/json/json.js';
import { gatewayForTest, PASSWORD_HASH } from '../northbound/gateway.js';

export const TOKEN = 'T0ken';

/** An answer of Keyway's own interface; integers of the body are bigint. */
export interface OwnReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: JsonValue;
}

type Call = (
  endpoint: string,
  asked?: { readonly body?: unknown; readonly headers?: InjectOptions['headers'] },
) => Promise<OwnReply>;

/** A gateway, and a caller of its own interface who shows the static token. */
export interface OwnStage {
  readonly app: FastifyInstance;
  readonly call: Call;
}

export async function ownStage(options: Partial<GatewayOptions> = {}): Promise<OwnStage> {
  const app = await gatewayForTest({
    mounts: [{ revision: 'current', webpath: 'panel' }],
    listener: { token: TOKEN, username: 'admin', passwordHash: PASSWORD_HASH },
    ...options,
  });
  return { app, call: callerOf(app) };
}

/** Calls the interface beside the mount at `/panel`; the endpoint is method and path, as the rows write it. */
export function callerOf(app: FastifyInstance, root = '/panel/keyway/v1'): Call {
  return async (endpoint, { body, headers = {} } = {}) => {
    const [method = '', path = ''] = endpoint.split(' ');
    const sent = typeof body === 'string' ? body : body === undefined ? undefined : toJson(body);
    const answer = await app.inject({
      method: method as 'GET',
      url: `${root}${path}`,
      headers: {
        authorization: `Bearer ${TOKEN}`,
        ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(sent === undefined ? {} : { payload: sent }),
    });
    return {
      status: answer.statusCode,
      headers: answer.headers,
      body: answer.rawPayload.length === 0 ? null : parseJson(answer.rawPayload, { foreign: true }),
    };
  };
}

const toJson = (value: unknown): string =>
  JSON.stringify(value, (_name, member) => (typeof member === 'bigint' ? Number(member) : member));
