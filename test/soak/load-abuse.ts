import { type Ending, openLoadConnection, sendRaw } from './load-connection.js';
import { API, BEARER, createAsking, JSON_BEARER, type Lane, type Lanes, loginBody } from './load-lane.js';
import { API_TOKEN } from './load-server.js';

const HEAD = `Host: soak\r\nAuthorization: Bearer ${API_TOKEN}\r\n`;
const START = `POST ${API}/users HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\n`;

/** What is sent on connections that end too early, how they end, and what must come back of it. */
const BROKEN: readonly (readonly [bytes: string, ending: Ending, answer: RegExp])[] = [
  [`GET ${API}/server/status HTTP/1.1\r\n${HEAD}\r\n`, 'half-close', /^HTTP\/1\.1 200/],
  [`GET ${API}/users HTTP/1.1\r\n${HEAD}\r\n`, 'half-close', /^HTTP\/1\.1 200.*\]\}$/s],
  [`GET ${API}/users HTTP/1.1\r\n${HEAD}\r\n`, 'destroy at first byte', /^HTTP\/1\.1 200/],
  [`GET ${API}/users HTTP/1.1\r\n${HEAD}\r\n`, 'destroy', /^/],
  [`GET ${API}/server/st`, 'half-close', /^(HTTP\/1\.1 400|$)/],
  [`${START}Content-Length: 1000\r\n\r\n{"access_key":"never"`, 'half-close', /^(HTTP\/1\.1 4|$)/],
  [`${START}Content-Length: 1000\r\n\r\n{"access_key":"never"`, 'destroy', /^$/],
  [`${START}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`, 'half-close', /^HTTP\/1\.1 400/],
  ['\u0016\u0003\u0001 no HTTP at all\r\n\r\n', 'half-close', /^HTTP\/1\.1 400/],
  [`GET / HTTP/1.1\r\nX: ${'x'.repeat(200_000)}\r\n\r\n`, 'half-close', /^(HTTP\/1\.1 431|$)/],
  ['', 'destroy', /^$/],
];

/** Ends its connections in the middle of everything. */
export function breaker(lanes: Lanes): Lane {
  return {
    async step() {
      const [bytes, ending, expected] = BROKEN[lanes.choose(BROKEN.length)] ?? ['', 'destroy', /^/];
      const answer = await sendRaw(lanes.server.api, bytes, ending);
      if (!expected.test(answer))
        lanes.failed(`${bytes.slice(0, 40)} and ${ending} was answered ${answer.slice(0, 200)}`);
    },
    close: () => undefined,
  };
}

/** Requests that must be refused, and how. */
const REFUSED: readonly (readonly [method: string, path: string, body: string | undefined, status: number])[] = [
  ['POST', '/users', '{', 400],
  ['POST', '/users', '[]', 400],
  ['POST', '/users', '{"limit_bytes":-1}', 400],
  ['POST', '/users', `{"access_key":"${'x'.repeat(1_500_000)}"}`, 413],
  ['POST', '/users', `{"a":${'['.repeat(50_000)}`, 400],
  ['POST', '/users/bulk', '{"count":1001}', 400],
  ['PUT', '/users/nobody', '{}', 400],
  ['PUT', '/users/nobody/limit', '{"limit_bytes":1e9}', 400],
  ['DELETE', '/users/nobody', undefined, 400],
  ['PUT', '/server/config', '{"no":"mode"}', 400],
  ['PUT', '/server/config', '{"mode":', 400],
  ['PUT', '/router/rules', '[{"action":7}]', 400],
  ['POST', '/audit', '{"eventEn":1}', 400],
  ['POST', '/login', loginBody('wrong'), 401],
  ['GET', '/nowhere', undefined, 404],
  ['GET', '/subscribe/nobody', undefined, 404],
  ['DELETE', '/server/status', undefined, 405],
  ['GET', '/users/%zz', undefined, 400],
];

/** With hostile clients about, guessing is theirs, from addresses of their own; and memory is judged without large bodies. */
const REFUSED_BESIDE_HOSTILE = REFUSED.filter(([, , body = '', status]) => status !== 401 && body.length <= 1_048_576);

/** Sends what no client should. */
export function offender(lanes: Lanes): Lane {
  const refused = lanes.hostile ? REFUSED_BESIDE_HOSTILE : REFUSED;
  const connection = openLoadConnection(lanes.server.api);
  const ask = createAsking(lanes, connection);
  return {
    async step() {
      const [method, path, body, status] = refused[lanes.choose(refused.length)] ?? ['GET', '/', undefined, 404];
      const headers = body === undefined ? BEARER : JSON_BEARER;
      await ask('refusal', { method, path: API + path, headers, ...(body === undefined ? {} : { body }) }, status);
      if (!lanes.hostile && lanes.choose(4) === 0)
        await ask('refusal', { method: 'PUT', path: `${API}/server/config`, body: '{"mode":"server"}' }, 401);
    },
    close: connection.close,
  };
}
