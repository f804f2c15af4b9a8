import { Agent, request as httpRequest } from 'node:http';
import { request as httpsRequest, Agent as SecureAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import { type Caller, NoAnswer, type Pace } from './call.js';
import { type Peer, Sending } from './sending.js';

export interface CallerOptions {
  /** `http://host:port` or `https://host:port`. */
  readonly origin: string;
  /** The most milliseconds for one exchange, to the last byte of its answer. */
  readonly timeoutMilliseconds: number;
  /** The least speed; if absent, any speed within that time. */
  readonly pace?: Pace;
  /** The most connections at once; by default 1, so that calls run one after the other. */
  readonly connections?: number;
  /** Opens a connection instead of one to the origin. */
  readonly connect?: () => Duplex;
  /** Certificates (PEM) that are trusted instead of the system's. */
  readonly ca?: Buffer;
  /** The flag that names these certificates; default `--ca`. */
  readonly caFlag?: string;
  /** The most bytes of an answer's body; default 1 GiB. */
  readonly answerLimit?: number;
}

/**
 * Milliseconds after which an unused connection is closed. Servers close them too, usually after 5 s and more; a write
 * that met such a close could neither be reported as done nor be sent again.
 */
const UNUSED = 4_000;

const ANSWER_LIMIT = 1024 * 1024 * 1024;

/** Creates a caller over real sockets. Unlike `fetch` it rewrites no path and trims no header value. */
export function createCaller(options: CallerOptions): Caller {
  const { origin, timeoutMilliseconds, pace = null, connections = 1, ca, answerLimit = ANSWER_LIMIT } = options;
  const { hostname, port, protocol } = new URL(origin);
  const secure = protocol === 'https:';
  const { connect = null } = options;
  // A stream that is no socket has none of the means to keep it.
  const settings =
    connect === null ? { keepAlive: true, maxSockets: connections, timeout: UNUSED } : { maxSockets: connections };
  const agent = secure ? new SecureAgent({ ...settings, ...(ca === undefined ? {} : { ca }) }) : new Agent(settings);
  if (connect !== null) agent.createConnection = connect;
  const peer: Peer = {
    open: secure ? httpsRequest : httpRequest,
    opened: secure ? 'secureConnect' : 'connect',
    caFlag: options.caFlag ?? '--ca',
    hasAnswered: false,
    options: {
      agent,
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? (secure ? 443 : 80) : Number(port),
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
