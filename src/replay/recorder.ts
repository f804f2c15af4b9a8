import { isJsonObject } from '../wire/json.js';
import { createClientSessions } from './client-sessions.js';
import type { Target } from './create-call.js';
import { describeExchange } from './describe.js';
import { inferGiven } from './infer-given.js';
import { jsonIn } from './json-in.js';
import type { ProxiedExchange } from './proxy.js';
import { createReplacements } from './replacements.js';
import type { Exchange, Scenario } from './scenario.js';

export interface RecorderOptions extends Pick<Target, 'apiRoot' | 'base'> {
  /** As it was asked for. */
  readonly revision: string;
  /** `YYYY-MM-DD`. */
  readonly date: string;
  readonly keepValues: boolean;
}

/** Makes scenarios out of the exchanges that pass. Nothing secret is in what it hands out. */
export interface Recorder {
  /** Takes an exchange in; returns the number of its session. */
  add(exchange: ProxiedExchange): number;
  /** One scenario per session, as far as it has come. */
  scenario(session: number): Scenario;
  readonly sessions: readonly number[];
  /** Exchanges taken in. */
  readonly count: number;
}

interface Recorded {
  readonly sequence: number;
  readonly exchange: Exchange;
}

export function createRecorder(options: RecorderOptions): Recorder {
  const replacements = createReplacements(options.keepValues);
  const sessionOf = createClientSessions();
  const recorded = new Map<number, Recorded[]>();
  const seen: { version: string | null; count: number } = { version: null, count: 0 };

  return {
    add(passed) {
      const exchange = describeExchange(passed, options, replacements);
      const session = sessionOf({
        client: passed.client,
        authorization: passed.requestHeaders.get('authorization') ?? null,
        newToken: exchange.operation === 'login' ? tokenIn(passed.responseBody) : null,
        wasRefused: passed.status === 401,
      });
      const list = recorded.get(session) ?? [];
      recorded.set(session, list);
      list.push({ sequence: passed.sequence, exchange });
      seen.count += 1;
      if (exchange.operation === 'getStatus') seen.version = versionIn(passed.responseBody) ?? seen.version;
      return session;
    },
    scenario(session) {
      const inOrder = [...(recorded.get(session) ?? [])].sort((a, b) => a.sequence - b.sequence);
      const exchanges = inOrder.map(({ exchange }) => exchange);
      return {
        title: `a client's session, recorded on ${options.date}`,
        revision: options.revision,
        source: 'recorded',
        ...(seen.version === null ? {} : { serverVersion: seen.version }),
        recordedAt: options.date,
        anonymous: true,
        given: inferGiven(exchanges),
        exchanges,
      };
    },
    get sessions() {
      return [...recorded.keys()];
    },
    get count() {
      return seen.count;
    },
  };
}

function tokenIn(body: Buffer): string | null {
  return textAt(body, 'token');
}

/** Versions are public; one of another form is nobody's business. */
function versionIn(body: Buffer): string | null {
  const version = textAt(body, 'version');
  return version !== null && /^\d+\.\d+\.\d+$/.test(version) ? version : null;
}

function textAt(body: Buffer, member: string): string | null {
  const envelope = jsonIn(body);
  const data = isJsonObject(envelope) ? envelope.data : undefined;
  const value = isJsonObject(data) ? data[member] : null;
  return typeof value === 'string' ? value : null;
}
