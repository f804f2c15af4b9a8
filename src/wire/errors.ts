import { DomainError, type DomainErrorCode } from '../core/errors.js';

/** Status and text of a failure. */
export interface ErrorAnswer {
  readonly status: number;
  readonly text: string;
}

/** One row of the error table: an error of the core as it is on the wire. */
export interface Failure extends ErrorAnswer {
  readonly code: DomainErrorCode;
  /** True if the detail follows the text after a colon, as on recorded servers, or replaces an empty text. */
  readonly withDetail?: boolean;
}

/**
 * The name of a row: one for each of the core's errors, and some that single operations use instead by naming them
 * among their failures.
 */
export type FailureName = DomainErrorCode | 'userNotFoundCapital' | 'invalidAccessKey' | 'appliedUnsaved';
export type ErrorTable = Readonly<Record<FailureName, Failure>>;

/**
 * The failures of every line: protocol: "Errors", and rows for where the protocol is silent (design: "Where the
 * protocol is silent").
 */
export const commonErrors: ErrorTable = {
  unauthorized: { code: 'unauthorized', status: 401, text: 'unauthorized' },
  authNotConfigured: { code: 'authNotConfigured', status: 400, text: 'Auth not configured' },
  /** The guard keeps the caller waiting; the password was not compared. */
  tooManyLogins: { code: 'tooManyLogins', status: 401, text: 'unauthorized' },
  userNotFound: { code: 'userNotFound', status: 400, text: 'user not found' },
  userNotFoundCapital: { code: 'userNotFound', status: 400, text: 'User not found' },
  invalidAccessKey: { code: 'userNotFound', status: 404, text: 'invalid access key' },
  /** Concerns only the configuration file; counters that could not be written go with the next write. */
  savedInMemory: { code: 'savedInMemory', status: 400, text: 'failed to save configuration' },
  /** Nothing was changed. It has the words of the row before, and is read back as that. */
  saveFailed: { code: 'saveFailed', status: 400, text: 'failed to save configuration' },
  /** The words of servers from 0.4.6 on, whatever the file's name. */
  appliedUnsaved: {
    code: 'savedInMemory',
    status: 400,
    text: 'applied, but config.json was not written',
    withDetail: true,
  },
  /** The outcome is unknown: the holder of the state has neither done nor refused what was asked. */
  backendAway: { code: 'backendAway', status: 503, text: 'the state cannot be reached', withDetail: true },
  /** It could not be found out in time whether the change was made. */
  outcomeUnknown: { code: 'outcomeUnknown', status: 504, text: 'the change may have happened', withDetail: true },
  /** The server that holds the state is away: no connection, or an answer that is not its API's. */
  upstreamAway: { code: 'upstreamAway', status: 502, text: 'the server cannot be reached', withDetail: true },
  upstreamSilent: { code: 'upstreamSilent', status: 504, text: 'the server did not answer in time', withDetail: true },
  upstreamRefused: {
    code: 'upstreamRefused',
    status: 502,
    text: 'the server does not let Keyway in',
    withDetail: true,
  },
  countTooLarge: { code: 'countTooLarge', status: 400, text: 'Count too large, max 1000' },
  /** The state accepts keys one by one; those that were made stay. */
  bulkIncomplete: { code: 'bulkIncomplete', status: 400, text: '', withDetail: true },
  /** Occurs only on the feed. */
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
  /** The server that holds the state has few connections for requests without a credential. */
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

/** The failures from 0.4.7 on, where a login that is kept waiting is told so. */
export const throttledErrors: ErrorTable = {
  ...commonErrors,
  tooManyLogins: { code: 'tooManyLogins', status: 429, text: 'too many sign-in attempts, wait a minute' },
};

/**
 * Returns a table for callers who may see everything: changes made only in memory, and those not made, each with its
 * reason.
 */
export function toldInFull(table: ErrorTable): ErrorTable {
  return {
    ...table,
    saveFailed: { ...table.saveFailed, text: 'not made', withDetail: true },
    savedInMemory: { ...table.savedInMemory, text: 'not saved yet', withDetail: true },
  };
}

/** Failures that reveal what is behind Keyway, and what callers without an accepted credential get instead. */
const FOR_STRANGERS: Readonly<Partial<Record<DomainErrorCode, DomainErrorCode>>> = {
  upstreamAway: 'upstreamAway',
  upstreamSilent: 'upstreamAway',
  upstreamRefused: 'upstreamAway',
};

/** Returns the failure for a stranger, without any address, path or text of the server behind Keyway. */
export function forStrangers(error: DomainError): DomainError {
  const code = FOR_STRANGERS[error.code];
  return code === undefined ? error : new DomainError(code, '', error.retryAfter);
}

/** The part of an operation that decides how its failures are worded. */
interface Failing {
  readonly failures: readonly FailureName[];
}

/** Returns status and text with which an operation answers a failure. */
export function encodeError(table: ErrorTable, operation: Failing, error: DomainError): ErrorAnswer {
  const { status, text, withDetail } = table[rowFor(table, operation, error.code)];
  const detail = withDetail === true ? error.detail : '';
  return { status, text: [withWait(text, error.retryAfter), detail].filter((part) => part !== '').join(': ') };
}

/** Puts the minutes that the caller has to wait into a text that says to wait a minute. */
function withWait(text: string, seconds: number | null): string {
  const minutes = Math.ceil((seconds ?? 0) / 60);
  return minutes > 1 ? text.replace('wait a minute', `wait ${minutes} minutes`) : text;
}

/**
 * Returns the failure in an operation's answer, or null if no row has it. A text that begins like no row is the
 * server's complaint about a body.
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
