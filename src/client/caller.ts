import { Agent, request as httpRequest } from 'node:http';
import { request as httpsRequest, Agent as SecureAgent } from 'node:https';
import { type Caller, NoAnswer, type Pace } from './call.js';
import { type Peer, Sending } from './sending.js';

export interface CallerOptions {
  /** `http://host:port` or `https://host:port`. */
  readonly origin: string;
  /** The most time of one exchange, to the last byte of its answer, in milliseconds. */
  readonly timeoutMilliseconds: number;
  /** The least speed; absent for any speed within that time. */
  readonly pace?: Pace;
  /** The most connections at once; default 1, so that calls go one after the other. */
  readonly connections?: number;
  /** The Unix socket that is connected to instead of the origin. */
  readonly socketPath?: string;
  /** Certificates (PEM) that are trusted instead of the system's. */
  readonly ca?: Buffer;
  /** The most bytes that an answer's body may have; default 1 GiB. */
  readonly answerLimit?: number;
}

/**
 * Milliseconds after which a connection that nobody uses is closed. A server closes them too, as a rule after 5 s and more;
 * a write that meets such a close could neither be called done nor be sent again.
 */
const UNUSED = 4_000;

const ANSWER_LIMIT = 1024 * 1024 * 1024;

/** A caller over real sockets. Unlike `fetch` it rewrites no path and trims no header value. */
export function createCaller(options: CallerOptions): Caller {
  const { origin, timeoutMilliseconds, pace = null, connections = 1, ca, answerLimit = ANSWER_LIMIT } = options;
  const { hostname, port, protocol } = new URL(origin);
  const secure = protocol === 'https:';
  const settings = { keepAlive: true, maxSockets: connections, timeout: UNUSED };
  const agent = secure ? new SecureAgent({ ...settings, ...(ca === undefined ? {} : { ca }) }) : new Agent(settings);
  const peer: Peer = {
    open: secure ? httpsRequest : httpRequest,
    opened: secure ? 'secureConnect' : 'connect',
    options: {
      agent,
      ...(options.socketPath === undefined
        ? { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? (secure ? 443 : 80) : Number(port) }
        : { socketPath: options.socketPath }),
    },
    timeoutMilliseconds,
    pace,
    answerLimit,
  };
  const underWay = new Set<Sending>();
  let isClosed = false;
  return {
    async send(call) {
      if (isClosed) throw new NoAnswer('unreachable', CLOSED, { mayHaveArrived: false });
      const sending = new Sending(call, peer);
      underWay.add(sending);
      return sending.answer.finally(() => underWay.delete(sending));
    },
    close() {
      isClosed = true;
      for (const sending of underWay) sending.fail(new Error(CLOSED));
      agent.destroy();
    },
  };
}

const CLOSED = 'Keyway calls it no more: it is ending';
