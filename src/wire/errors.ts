import type { DomainError, DomainErrorCode } from '../core/errors.js';
import type { OperationName } from './operations.js';

/** How a failure is answered. */
export interface ErrorAnswer {
  readonly status: number;
  readonly text: string;
}

interface ErrorRow {
  readonly status: number;
  readonly text: string;
  /** The error's detail follows the text after a colon, as recorded servers write it, or is the text where that is empty. */
  readonly withDetail?: boolean;
  /** Where an operation words it differently. */
  readonly except?: Partial<Record<OperationName, ErrorAnswer>>;
}

const CAPITAL_USER: ErrorAnswer = { status: 400, text: 'User not found' };

/** Protocol: "Errors", and the rows for where the protocol is silent (design: "Where the protocol is silent"). */
export const ERROR_TABLE: Readonly<Record<DomainErrorCode, ErrorRow>> = {
  unauthorized: { status: 401, text: 'unauthorized' },
  authNotConfigured: { status: 400, text: 'Auth not configured' },
  userNotFound: {
    status: 400,
    text: 'user not found',
    except: {
      updateUser: CAPITAL_USER,
      deleteUser: CAPITAL_USER,
      subscribe: { status: 404, text: 'invalid access key' },
    },
  },
  /** Of the configuration file alone: counters that could not be written are logged, and the next write carries them. */
  saveFailed: { status: 400, text: 'failed to save configuration' },
  /** Nothing is known of what was asked: neither done nor refused by whoever holds the state. */
  backendAway: { status: 503, text: 'the state cannot be reached', withDetail: true },
  countTooLarge: { status: 400, text: 'Count too large, max 1000' },
  noConfigPath: { status: 400, text: 'No config path registered (run-time only)' },
  configModeMissing: { status: 400, text: "Invalid config: missing 'mode' field" },
  configReadFailed: { status: 400, text: 'Failed to read config file', withDetail: true },
  configStripFailed: { status: 400, text: 'Failed to strip comments', withDetail: true },
  configParseFailed: { status: 400, text: 'Failed to parse config JSON', withDetail: true },
  configFormatFailed: { status: 400, text: 'Failed to format config JSON', withDetail: true },
  configWriteFailed: { status: 400, text: 'Failed to write config file', withDetail: true },
  configRefused: { status: 400, text: 'Refused', withDetail: true },
  outboundNotConfigured: { status: 400, text: 'Outbound routing is not enabled in config' },
  invalidBody: { status: 400, text: '', withDetail: true },
  notJson: { status: 400, text: 'expected a JSON body with Content-Type: application/json', withDetail: true },
  bodyTooLarge: { status: 413, text: 'request body too large', withDetail: true },
  tooManyBodies: { status: 503, text: 'too many request bodies without a credential: try again' },
};

/** Status and text with which an operation answers a failure. */
export function errorAnswer(operation: OperationName, error: DomainError): ErrorAnswer {
  const row = ERROR_TABLE[error.code];
  const exception = row.except?.[operation];
  if (exception !== undefined) return exception;
  const detail = row.withDetail === true ? error.detail : '';
  return { status: row.status, text: [row.text, detail].filter((part) => part !== '').join(': ') };
}
