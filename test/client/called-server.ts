import { onTestFinished } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { resolveRevision } from '../../revisions/index.js';
import type { Lines } from '../../src/client/find-line.js';
import { createRunningServer, type RunningServerOptions } from '../../src/client/running-server.js';
import type { UpstreamServer } from '../../src/client/server.js';
import type { ClockPort, LogPort } from '../../src/core/ports.js';
import { systemClock } from '../../src/platform/system-ports.js';
import { PASSWORD, TOKEN, USERNAME } from '../lab/live-server.js';

export const LINES: Lines = { all: REVISIONS, resolve: resolveRevision };

export const BY_TOKEN = { token: TOKEN, operator: null };
export const BY_LOGIN = { token: null, operator: { username: USERNAME, password: PASSWORD } };
export const BOTH = { token: TOKEN, operator: { username: USERNAME, password: PASSWORD } };

/** A log whose lines can be looked at, as `level message {fields}`. */
export function keptLog(): LogPort & { readonly lines: string[] } {
  const lines: string[] = [];
  const at = (level: string) => (fields: object, message: string) => {
    lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  };
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** A clock that goes on when told to; `set` puts the time of day forward or back. */
export function handClock(): ClockPort & { pass(milliseconds: number): void; set(milliseconds: number): void } {
  let past = 0;
  let setBy = 0;
  return {
    now: () => Date.UTC(2026, 0, 1) + past + setBy,
    monotonic: () => past,
    pass(milliseconds) {
      past += milliseconds;
    },
    set(milliseconds) {
      setBy += milliseconds;
    },
  };
}

/** A server as it is called from southbound; it is let go with the test. */
export function call(origin: string, options: Partial<RunningServerOptions> = {}): UpstreamServer {
  const server = createRunningServer({
    origin,
    webpath: '',
    revision: null,
    credentials: BOTH,
    lines: LINES,
    clock: systemClock,
    log: keptLog(),
    ...options,
  });
  onTestFinished(() => server.close());
  return server;
}

export const STATUS = { version: '0.2.96', uptime_seconds: 5, active_users: 0, total_users: 0 };

export const envelope = (data: unknown): string => JSON.stringify({ ok: true, data });
