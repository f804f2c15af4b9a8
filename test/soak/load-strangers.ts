import { connect, type Socket } from 'node:net';
import { type Ending, type LoadRequest, openLoadConnection, sendRaw } from './load-connection.js';
import { API, createAsking, JSON_BEARER, type Lane, type Lanes, loginBody } from './load-lane.js';

const FROM = { pipelined: '127.0.0.6', longLogins: '127.0.0.7', many: '127.0.0.8', polls: '127.0.0.9' } as const;

const GET = `GET ${API}/server/status HTTP/1.1\r\nHost: soak\r\n\r\n`;
const UPGRADE = 'GET /panel/ HTTP/1.1\r\nHost: soak\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
const CONNECT = 'CONNECT a HTTP/1.1\r\n\r\n';
const LOGIN = `POST ${API}/login HTTP/1.1\r\nHost: soak\r\nContent-Type: application/json\r\n`;

/** What is sent in one packet, behind answers that are still on their way. */
const PIPELINED: readonly string[] = [
  GET + CONNECT,
  UPGRADE + CONNECT,
  GET.repeat(20) + CONNECT,
  `${LOGIN}Content-Length: 2\r\n\r\n{}${CONNECT}`,
  `${GET}PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`,
  UPGRADE.repeat(5) + GET.slice(0, 20),
  CONNECT + GET,
];
const ENDINGS: readonly Ending[] = ['half-close', 'destroy', 'reset', 'destroy at first byte'];

/** Pipelines CONNECTs and upgrades to every listener; whether anything still runs, the others see. */
export function pipeliner(lanes: Lanes): Lane {
  return {
    async step() {
      const { api, feed } = lanes.server;
      const bytes = PIPELINED[lanes.choose(PIPELINED.length)] ?? GET;
      const ending = ENDINGS[lanes.choose(ENDINGS.length)] ?? 'destroy';
      await sendRaw(lanes.choose(3) === 0 ? feed : api, bytes, ending, FROM.pipelined);
    },
    close: () => undefined,
  };
}

/** Requests that one connection sends ahead of their answers, some megabyte of them. */
const AHEAD = 20_000;

/** What a stranger sends ahead, and never ends to send. */
const STRANGERS: readonly string[] = [
  `GET ${API}/audit HTTP/1.1\r\nHost: soak\r\n\r\n`,
  `GET ${API}/subscribe/nobody HTTP/1.1\r\nHost: soak\r\n\r\n`,
  GET,
];

/** A connection at a time that sends thousands of requests ahead; their answers are read, and its end comes at the next step. */
export function aheadOfAnswers(lanes: Lanes): Lane {
  const sender = createSender(lanes, FROM.many);
  return {
    async step() {
      sender.send((STRANGERS[lanes.choose(STRANGERS.length)] ?? GET).repeat(AHEAD));
    },
    close: sender.close,
  };
}

/** The same with the token of a relay, whose requests wait for the next change of a key, of which the load makes many. */
export function aheadOfChanges(lanes: Lanes, number: number): Lane {
  const connection = openLoadConnection(lanes.server.api, FROM.polls);
  const ask = createAsking(lanes, connection);
  const sender = createSender(lanes, FROM.polls);
  const own = '/panel/keyway/v1';
  let token: string | null = null;
  const dataOf = async (request: LoadRequest) => {
    const answer = await ask('own', request);
    return answer === null ? null : JSON.parse(String(answer.body)).data;
  };
  return {
    async step() {
      const body = JSON.stringify({ name: `relay-${number}`, may: 'relay' });
      token ??= (await dataOf({ method: 'POST', path: `${own}/tokens`, headers: JSON_BEARER, body }))?.token ?? null;
      const headers = { authorization: `Bearer ${token}` };
      const page = await dataOf({ method: 'GET', path: `${own}/keys?limit=1`, headers });
      const wait = `GET ${own}/keys?since=${page?.cursor}&wait=60 HTTP/1.1\r\nHost: soak\r\n`;
      sender.send(`${wait}Authorization: Bearer ${token}\r\n\r\n`.repeat(AHEAD / 2));
    },
    close() {
      connection.close();
      sender.close();
    },
  };
}

/** Sends bytes on a connection that ends when the next ones are sent on another. */
function createSender({ server }: Lanes, localAddress: string) {
  const { hostname, port } = new URL(server.api);
  let socket: Socket | null = null;
  return {
    send(bytes: string): void {
      socket?.destroy();
      socket = connect({ host: hostname, port: Number(port), localAddress });
      // It may be ended for what it sends.
      socket.on('error', () => undefined).resume();
      socket.write(bytes);
    },
    close: (): void => void socket?.destroy(),
  };
}

/** Networks that slow bodies come from, and how many connections each of them holds: together more than a listener has. */
export const SLOW_NETWORKS = 300;
const SLOW_CONNECTIONS = 14;

/** Begins logins whose bodies come a byte at a time, from a network of its own. */
export function slowBodies(lanes: Lanes, number: number): Lane {
  const localAddress = `127.2.${Math.floor(number / 250)}.${1 + (number % 250)}`;
  const { hostname, port } = new URL(lanes.server.api);
  const open = new Set<Socket>();

  function begin(): void {
    const socket = connect({ host: hostname, port: Number(port), localAddress });
    open.add(socket);
    // It is ended sooner or later, which is what is wanted.
    socket.on('error', () => undefined).on('close', () => open.delete(socket));
    socket.resume();
    socket.write(`${LOGIN}Content-Length: 50\r\n\r\n{`);
  }

  return {
    async step() {
      for (const socket of open) socket.write(' ');
      for (let more = 2 + lanes.choose(2); more > 0 && open.size < SLOW_CONNECTIONS; more -= 1) begin();
    },
    close() {
      for (const socket of open) socket.destroy();
    },
  };
}

/** Logs in with a megabyte. */
export function longLogins(lanes: Lanes): Lane {
  const connection = openLoadConnection(lanes.server.api, FROM.longLogins);
  const ask = createAsking(lanes, connection);
  const headers = { 'content-type': 'application/json' };
  const body = loginBody('x'.repeat(1_000_000));
  return {
    async step() {
      await ask('long login', { method: 'POST', path: `${API}/login`, headers, body }, 413);
    },
    close: connection.close,
  };
}
