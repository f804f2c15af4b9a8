import { connect, type Socket } from 'node:net';
import { type Ending, openLoadConnection, sendRaw } from './load-connection.js';
import { API, createAsking, type Lane, type Lanes, loginBody } from './load-lane.js';

const FROM = { pipelined: '127.0.0.6', longLogins: '127.0.0.7' } as const;

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
