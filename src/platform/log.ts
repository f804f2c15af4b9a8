import { constants, fstatSync, openSync, write } from 'node:fs';
import { isatty } from 'node:tty';
import { type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino';
import type { LogPort } from '../core/ports.js';
import type { LogLevel } from './log-levels.js';
import { createLogLines, type LogLines, type TakeBytes } from './log-lines.js';

/** A log that knows what it has lost. */
export interface CountedLog extends LogPort {
  /** Lines that could not be written, since the start. */
  linesLost(): number;
}

/** A log whose lines may still be on their way. */
export interface Log extends CountedLog {
  /** Writes a text as it is, in its place among the lines, at every level. */
  plain(text: string): void;
  /** Resolves when every line that was written so far is out or lost; a reader that hangs holds it up for some seconds at most. */
  flush(): Promise<void>;
}

export interface LogOptions {
  readonly level: LogLevel;
  /** For people, one readable line each; otherwise one JSON object a line (pino's form, times in ISO 8601, UTC). */
  readonly pretty: boolean;
  /** A file descriptor, or whatever takes lines. */
  readonly to: number | DestinationStream;
}

/** A log on pino. Secrets under their usual names are replaced by `[redacted]` (design: "Secrets in logs"). */
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

/** Loads the printer of readable lines, where somebody reads along. */
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

/** Pino's own destination ends the process where a disk is full, and waits for ever where a reader hangs. */
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
 * The same pipe or terminal, opened once more so that a write to it never waits: one that waits for a reader could not be
 * broken off, not even by the end of the process. Where it cannot be opened (another user's, a system without /proc), and
 * for everything else, the descriptor itself: Node makes pipes and sockets of its own standard output not wait.
 */
function withoutWaiting(descriptor: number): number {
  try {
    if (!isatty(descriptor) && !fstatSync(descriptor).isFIFO()) return descriptor;
    return openSync(`/proc/self/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return descriptor;
  }
}

/** Names whose values never show, in lower case and without `_` and `-`. */
const SECRET_NAMES = new Set(['authorization', 'cookie', 'token', 'password', 'passwordhash', 'accesskey']);

/** Levels of a log line's fields that are searched; deeper ones are not written by this project. */
const DEEPEST = 4;

const REDACTED = '[redacted]';

type Fields = Readonly<Record<string, unknown>>;

/**
 * The same fields, with `[redacted]` in place of every secret under its usual name (design: "Secrets in logs"). A second
 * net: callers log no secrets. Written by hand because pino's own wildcards cost several times the line itself.
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

/** Errors, dates and the like have their own way of being written. */
function isPlain(value: object): value is Fields {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
