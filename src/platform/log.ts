import { constants, fstatSync, openSync, write } from 'node:fs';
import { isatty } from 'node:tty';
import { type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino';
import type { LogPort } from '../core/ports.js';
import type { LogLevel } from './log-levels.js';
import { createLogLines, type LogLines, type TakeBytes } from './log-lines.js';

/** A log that counts the lines it has lost. */
export interface CountedLog extends LogPort {
  /** Returns the number of lines that could not be written since the start. */
  linesLost(): number;
}

/** A log with lines that may not have been written yet. */
export interface Log extends CountedLog {
  /** Writes a text unchanged, in order with the lines, at every level. */
  plain(text: string): void;
  /** Resolves when every line so far is written or lost; a hanging reader delays it by a few seconds at most. */
  flush(): Promise<void>;
}

export interface LogOptions {
  readonly level: LogLevel;
  /** True for one readable text line each; otherwise one JSON object a line (pino's form, times in ISO 8601, UTC). */
  readonly pretty: boolean;
  /** A file descriptor, or a stream for the lines. */
  readonly to: number | DestinationStream;
}

/** Creates a log on pino. Secrets under their usual names are replaced by `[redacted]` (design: "Secrets in logs"). */
export async function createLog({ level, pretty, to }: LogOptions): Promise<Log> {
  const form = pretty ? await prettyForm() : null;
  const loggerTo = (write: (line: string) => void) =>
    createLogger(level, { write: form === null ? write : (line) => write(form(line)) });
  const lines = typeof to === 'number' ? linesTo(to, loggerTo) : linesToStream(to);
  const logger = loggerTo(lines.write);
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    plain: (text) => lines.write(`${text}\n`),
    linesLost: lines.lost,
    flush: lines.flush,
  };
}

/** Loads the formatter of readable lines, on demand. */
async function prettyForm() {
  const { prettyFactory } = await import('pino-pretty');
  return prettyFactory({ translateTime: 'SYS:HH:MM:ss', singleLine: true, colorize: true });
}

function createLogger(level: LogLevel, stream: DestinationStream): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      serializers: { error: stdSerializers.err },
      formatters: { level: (label) => ({ level: label }), log: (fields) => redactSecrets(fields) },
    },
    stream,
  );
}

/** Replaces pino's own destination, which ends the process if a disk is full, and waits forever if a reader hangs. */
function linesTo(descriptor: number, loggerTo: (take: (line: string) => void) => Logger): LogLines {
  return createLogLines({
    take: takeAt(withoutWaiting(descriptor)),
    notice(lost, reason) {
      let text = '';
      const logger = loggerTo((line) => {
        text = line;
      });
      logger.error({ lost }, `the log goes on; lines lost before this one: ${lost}; the reason: ${reason}`);
      return text;
    },
  });
}

function linesToStream(stream: DestinationStream): LogLines {
  return { write: (line) => stream.write(line), lost: () => 0, flush: async () => undefined };
}

function takeAt(descriptor: number): TakeBytes {
  return (bytes) =>
    new Promise((resolve, reject) => {
      write(descriptor, bytes, (error, taken) => (error === null ? resolve(taken) : reject(error)));
    });
}

/**
 * Opens the same pipe or terminal once more so that a write to it never waits: a write that waits for a reader could
 * not be interrupted, not even by the end of the process. If it cannot be opened (another user's, a system without
 * /proc), and for everything else, returns the descriptor itself: Node makes pipes and sockets of its own standard
 * output non-blocking.
 */
function withoutWaiting(descriptor: number): number {
  try {
    if (!isatty(descriptor) && !fstatSync(descriptor).isFIFO()) return descriptor;
    return openSync(`/proc/self/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return descriptor;
  }
}

/** Names whose values are never logged, in lower case and without `_` and `-`. */
const SECRET_NAMES = new Set(['authorization', 'cookie', 'token', 'password', 'passwordhash', 'accesskey']);

/** Levels of a log line's fields that are searched; this project writes no deeper ones. */
const DEEPEST = 4;

const REDACTED = '[redacted]';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Returns the same fields, with `[redacted]` in place of every secret under its usual name (design: "Secrets in logs").
 * A second safeguard: callers log no secrets. Written by hand because pino's own wildcards cost several times the line
 * itself.
 */
export function redactSecrets(fields: Fields, depth = 0): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields))
    shown[name] = isSecret(name) ? REDACTED : redactValue(value, depth);
  return shown;
}

function isSecret(name: string): boolean {
  return SECRET_NAMES.has(name.toLowerCase().replaceAll(/[_-]/g, ''));
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || depth >= DEEPEST) return value;
  if (Array.isArray(value)) return value.map((element: unknown) => redactValue(element, depth + 1));
  return isPlain(value) ? redactSecrets(value, depth + 1) : value;
}

/** False for errors, dates and other classes, which have a text form of their own. */
function isPlain(value: object): value is Fields {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
