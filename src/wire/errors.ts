import { DomainError, type DomainErrorCode } from '../core/errors.js';

/** Status and text of a failure. */
export interface ErrorAnswer {
  readonly status: number;
  readonly text: string;
}

/** One row of the error table: what the core's error is on the wire. */
export interface Failure extends ErrorAnswer {
  readonly code: DomainErrorCode;
  /** The error's detail follows the text after a colon, as recorded servers write it, or is the text where that is empty. */
  readonly withDetail?: boolean;
}

/**
 * A row for each of the core's errors, under its name, and rows for what some operations say instead: an operation that
 * names such a row among its failures answers so.
 */
export type FailureName = DomainErrorCode | 'userNotFoundCapital' | 'invalidAccessKey' | 'appliedUnsaved';
export type ErrorTable = Readonly<Record<FailureName, Failure>>;

/** Protocol: "Errors", and the rows for where the protocol is silent (design: "Where the protocol is silent"): what every line says. */
export const commonErrors: ErrorTable = {
  unauthorized: { code: 'unauthorized', status: 401, text: 'unauthorized' },
  authNotConfigured: { code: 'authNotConfigured', status: 400, text: 'Auth not configured' },
  /** The guard keeps the caller waiting: the password was not looked at. */
  tooManyLogins: { code: 'tooManyLogins', status: 401, text: 'unauthorized' },
  userNotFound: { code: 'userNotFound', status: 400, text: 'user not found' },
  userNotFoundCapital: { code: 'userNotFound', status: 400, text: 'User not found' },
  invalidAccessKey: { code: 'userNotFound', status: 404, text: 'invalid access key' },
  /** Concerns the configuration file alone: counters that could not be written are logged, and the next write carries them. */
  savedInMemory: { code: 'savedInMemory', status: 400, text: 'failed to save configuration' },
  /** Nothing was made: the state took no change. It has the words of the row before, as which it is read. */
  saveFailed: { code: 'saveFailed', status: 400, text: 'failed to save configuration' },
  /** The words of servers from 0.4.6 on, whatever the file is called. */
  appliedUnsaved: {
    code: 'savedInMemory',
    status: 400,
    text: 'applied, but config.json was not written',
    withDetail: true,
  },
  /** Nothing is known of what was asked: neither done nor refused by whoever holds the state. */
  backendAway: { code: 'backendAway', status: 503, text: 'the state cannot be reached', withDetail: true },
  /** It could not be found out in time whether a change was made. */
  outcomeUnknown: { code: 'outcomeUnknown', status: 504, text: 'the change may have happened', withDetail: true },
  /** The server that holds the state is away: no connection, or what came is no answer of its API. */
  upstreamAway: { code: 'upstreamAway', status: 502, text: 'the server cannot be reached', withDetail: true },
  upstreamSilent: { code: 'upstreamSilent', status: 504, text: 'the server did not answer in time', withDetail: true },
  upstreamRefused: {
    code: 'upstreamRefused',
    status: 502,
    text: 'the server does not let Keyway in',
    withDetail: true,
  },
  countTooLarge: { code: 'countTooLarge', status: 400, text: 'Count too large, max 1000' },
  /** The state takes keys one by one; those that were made stay. */
  bulkIncomplete: { code: 'bulkIncomplete', status: 400, text: '', withDetail: true },
  /** The feed alone has it: no operation counts. */
  countedElsewhere: { code: 'countedElsewhere', status: 400, text: '', withDetail: true },
  noConfigPath: { code: 'noConfigPath', status: 400, text: 'No config path registered (run-time only)' },
  configModeMissing: { code: 'configModeMissing', status: 400, text: "Invalid config: missing 'mode' field" },
  configReadFailed: { code: 'configReadFailed', status: 400, text: 'Failed to read config file', withDetail: true },
  configStripFailed: { code: 'configStripFailed', status: 400, text: 'Failed to strip comments', withDetail: true },
  configParseFailed: { code: 'configParseFailed', status: 400, text: 'Failed to parse config JSON', withDetail: true },
  configFormatFailed: {
    code: 'configFormatFailed',
    status: 400,
    text: 'Failed to format config JSON',
    withDetail: true,
  },
  configWriteFailed: { code: 'configWriteFailed', status: 400, text: 'Failed to write config file', withDetail: true },
  configRefused: { code: 'configRefused', status: 400, text: 'Refused', withDetail: true },
  outboundNotConfigured: {
    code: 'outboundNotConfigured',
    status: 400,
    text: 'Outbound routing is not enabled in config',
  },
  preconditionFailed: {
    code: 'preconditionFailed',
    status: 412,
    text: 'the configuration is another one by now',
    withDetail: true,
  },
  conflict: { code: 'conflict', status: 409, text: 'it does not fit what is there', withDetail: true },
  useKeys: {
    code: 'useKeys',
    status: 422,
    text: 'lists of keys are changed by the operations of keys',
    withDetail: true,
  },
  unreadableByServer: {
    code: 'unreadableByServer',
    status: 422,
    text: 'the server that reads the file would not start from it',
    withDetail: true,
  },
  lockOut: {
    code: 'lockOut',
    status: 422,
    text: 'no token, and no name with a password, would be left to call the API with; "force=lock-out" does it all the same',
  },
  invalidBody: { code: 'invalidBody', status: 400, text: '', withDetail: true },
  notJson: {
    code: 'notJson',
    status: 400,
    text: 'expected a JSON body with Content-Type: application/json',
    withDetail: true,
  },
  bodyTooLarge: { code: 'bodyTooLarge', status: 413, text: 'request body too large', withDetail: true },
  bodyTooSlow: { code: 'bodyTooSlow', status: 408, text: 'the request took too long to arrive' },
  /** The server that holds the state has few connections for what needs no credential. */
  tooManyWaiting: {
    code: 'tooManyWaiting',
    status: 503,
    text: 'too many requests without a credential wait for the server: try again',
  },
  tooManyRequests: {
    code: 'tooManyRequests',
    status: 429,
    text: 'too many requests without a credential: try again',
  },
  tooManyBodies: {
    code: 'tooManyBodies',
    status: 503,
    text: 'too many request bodies without a credential: try again',
  },
  notPermitted: { code: 'notPermitted', status: 403, text: 'not permitted', withDetail: true },
};

/** The same from 0.4.7 on, where a login that is kept waiting is told so. */
export const throttledErrors: ErrorTable = {
  ...commonErrors,
  tooManyLogins: { code: 'tooManyLogins', status: 429, text: 'too many sign-in attempts, wait a minute' },
};

/** A table for who may be told all: what was made in memory alone, and what was not made, each with its reason. */
export function toldInFull(table: ErrorTable): ErrorTable {
  return {
    ...table,
    saveFailed: { ...table.saveFailed, text: 'not made', withDetail: true },
    savedInMemory: { ...table.savedInMemory, text: 'not saved yet', withDetail: true },
  };
}

/** Failures that tell of what stands behind Keyway, and what one who has shown no accepted credential is told instead. */
const FOR_STRANGERS: Readonly<Partial<Record<DomainErrorCode, DomainErrorCode>>> = {
  upstreamAway: 'upstreamAway',
  upstreamSilent: 'upstreamAway',
  upstreamRefused: 'upstreamAway',
};

/** The failure as a stranger is told it: nothing of an address, a path or a text of what stands behind. */
export function forStrangers(error: DomainError): DomainError {
  const code = FOR_STRANGERS[error.code];
  return code === undefined ? error : new DomainError(code, '', error.retryAfter);
}

/** The part of an operation that decides how its failures are worded. */
interface Failing {
  readonly failures: readonly FailureName[];
}

/** Status and text with which an operation answers a failure. */
export function encodeError(table: ErrorTable, operation: Failing, error: DomainError): ErrorAnswer {
  const { status, text, withDetail } = table[rowFor(table, operation, error.code)];
  const detail = withDetail === true ? error.detail : '';
  return { status, text: [withWait(text, error.retryAfter), detail].filter((part) => part !== '').join(': ') };
}

/** A text that says to wait a minute, with the minutes that the caller has to. */
function withWait(text: string, seconds: number | null): string {
  const minutes = Math.ceil((seconds ?? 0) / 60);
  return minutes > 1 ? text.replace('wait a minute', `wait ${minutes} minutes`) : text;
}

/**
 * The failure that an operation's answer stands for, or null for one that no row has. A text of which no row knows the
 * beginning is what the server says of a body.
 */
export function decodeError(table: ErrorTable, operation: Failing, { status, text }: ErrorAnswer): DomainError | null {
  const own = operation.failures.map((name) => table[name]);
  const rows = [...own, ...Object.values(table)].filter((row) => row.status === status && row.text !== '');
  const exact = rows.find((row) => row.text === text);
  if (exact !== undefined) return new DomainError(exact.code);
  const row = rows.find((each) => each.withDetail === true && text.startsWith(`${each.text}: `));
  if (row !== undefined) return new DomainError(row.code, text.slice(row.text.length + 2));
  return status === table.invalidBody.status ? new DomainError('invalidBody', text) : null;
}

function rowFor(table: ErrorTable, { failures }: Failing, code: DomainErrorCode): FailureName {
  return failures.find((name) => table[name].code === code) ?? code;
}
