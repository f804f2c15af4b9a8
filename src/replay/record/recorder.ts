import { isJsonObject } from '../../wire/json/json.js';
import { jsonIn } from '../../wire/json/json-in.js';
import { createReplacements } from '../format/replacements.js';
import type { Exchange, Scenario } from '../format/scenario.js';
import { createClientSessions } from './client-sessions.js';
import { describeExchange, isBelow, type Setting } from './describe.js';
import { inferGiven } from './infer-given.js';
import type { ProxiedExchange } from './proxy.js';

export interface RecorderOptions extends Setting {
  /** As it was asked for. */
  readonly revision: string;
  /** `YYYY-MM-DD`. */
  readonly date: string;
  readonly keepValues: boolean;
}

/** Makes scenarios out of the exchanges that pass. Nothing secret is in what it hands out. */
export interface Recorder {
  /** Takes an exchange in; returns the number of its session, or null for a file of the panel, which is left out. */
  add(exchange: ProxiedExchange): number | null;
  /** One scenario per session, as far as it has come. */
  scenario(session: number): Scenario;
  readonly sessions: readonly number[];
  /** Exchanges taken in. */
  readonly count: number;
  /** Files of the panel that were left out. */
  readonly panelFiles: number;
}

interface Recorded {
  readonly sequence: number;
  readonly exchange: Exchange;
}

export function createRecorder(options: RecorderOptions): Recorder {
  const replacements = createReplacements(options.keepValues);
  const sessionOf = createClientSessions();
  const recorded = new Map<number, Recorded[]>();
  const seen: { version: string | null; count: number; files: number } = { version: null, count: 0, files: 0 };

  return {
    add(passed) {
      if (isPanelFile(passed, options)) {
        seen.files += 1;
        return null;
      }
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
    get panelFiles() {
      return seen.files;
    },
  };
}

/** A file that makes up the page: each build of a panel has its own, and none is part of the API. */
function isPanelFile(passed: ProxiedExchange, { apiRoot, base }: RecorderOptions): boolean {
  const { method, path, status, responseHeaders } = passed;
  const isStatic = (method === 'GET' || method === 'HEAD') && base !== '' && isBelow(path, base);
  const isHere = status === 200 || status === 304;
  return (
    isStatic && isHere && !isBelow(path, apiRoot) && !/^text\/html/.test(responseHeaders.get('content-type') ?? '')
  );
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
