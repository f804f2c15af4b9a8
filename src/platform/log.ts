import { type DestinationStream, destination, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino';
import { prettyFactory } from 'pino-pretty';
import type { LogPort } from '../core/ports.js';
import { redactSecrets } from './log-redact.js';

/** From the most talkative on. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A log whose lines may still be on their way. */
export interface Log extends LogPort {
  /** Resolves when every line that was written so far has been handed to the system. */
  flush(): Promise<void>;
}

export interface LogOptions {
  readonly level: LogLevel;
  /** For people, one readable line each; otherwise one JSON object a line (pino's form, times in ISO 8601, UTC). */
  readonly pretty: boolean;
  /** A file descriptor, or whatever takes lines. */
  readonly to: number | DestinationStream;
}

/** Lines wait in memory while whatever reads the log is slow; beyond this many bytes they are dropped. */
const LONGEST_BACKLOG = 16 * 1024 * 1024;

/** A log on pino. Secrets under their usual names are replaced by `[redacted]` (design: "Secrets in logs"). */
export function createLog({ level, pretty, to }: LogOptions): Log {
  const stream = openStream(pretty, to);
  const logger = pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      serializers: { error: stdSerializers.err },
      formatters: { level: (label) => ({ level: label }), log: (fields) => redactSecrets(fields) },
    },
    stream,
  );
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    flush: () => flushed(logger),
  };
}

function openStream(pretty: boolean, to: number | DestinationStream): DestinationStream {
  if (pretty) {
    const prettify = prettyFactory({ translateTime: 'SYS:HH:MM:ss', singleLine: true, colorize: true });
    const terminal = typeof to === 'number' ? destination({ dest: to, sync: true }) : to;
    return { write: (line) => terminal.write(prettify(line)) };
  }
  // Not synchronous: a slow reader of the log must not hold up the gateway.
  return typeof to === 'number' ? destination({ dest: to, sync: false, maxLength: LONGEST_BACKLOG }) : to;
}

function flushed(logger: Logger): Promise<void> {
  return new Promise((resolve) => logger.flush(() => resolve()));
}
