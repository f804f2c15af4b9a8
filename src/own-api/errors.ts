import { DomainError, type DomainErrorCode, inMemoryWords, isInMemory } from '../core/errors.js';
import { commonErrors, encodeError, toldInFull } from '../wire/errors.js';

/** Failures that only Keyway's own interface has. A sentence may follow the text after a colon. */
const OWN_FAILURES = {
  invalidQuery: { status: 400, text: '' },
  invalidPath: { status: 400, text: '' },
  notFound: { status: 404, text: 'not found' },
  methodNotAllowed: { status: 405, text: 'method not allowed' },
  idempotencyKeyReused: { status: 422, text: 'the Idempotency-Key was used for another body' },
  tooManyJobs: { status: 429, text: 'too many batches wait: try again' },
  tooManyStreams: { status: 429, text: 'at most 16 streams for a credential' },
  tooManyPolls: { status: 429, text: 'at most 256 calls that wait for a credential' },
  internalError: { status: 500, text: 'internal error' },
} as const;

/** Statuses that say more than those of the revisions, which answer 400 to nearly everything. */
const STATUSES: Readonly<Partial<Record<DomainErrorCode, number>>> = {
  userNotFound: 404,
  saveFailed: 500,
  savedInMemory: 507,
  noConfigPath: 404,
  configReadFailed: 500,
  configStripFailed: 500,
  configParseFailed: 500,
  configModeMissing: 422,
  configFormatFailed: 422,
  configWriteFailed: 500,
  outboundNotConfigured: 409,
  notJson: 415,
};

const ERRORS = toldInFull(commonErrors);

/** Every way in which a call can fail: one of the core's errors, or one of its own. */
export type OwnErrorCode = DomainErrorCode | keyof typeof OWN_FAILURES;

/** A failure that only this interface has. */
export class OwnError extends Error {
  readonly code: keyof typeof OWN_FAILURES;
  readonly detail: string;
  readonly retryAfter: number | null;

  constructor(code: keyof typeof OWN_FAILURES, detail = '', retryAfter: number | null = null) {
    super(detail === '' ? code : `${code}: ${detail}`);
    this.name = 'OwnError';
    this.code = code;
    this.detail = detail;
    this.retryAfter = retryAfter;
  }
}

/** A failure of the core with more to say than a sentence: further members of its answer. */
export class DetailedError extends DomainError {
  readonly fields: Readonly<Record<string, readonly string[] | null>>;

  constructor(code: DomainErrorCode, detail: string, fields: DetailedError['fields']) {
    super(code, detail);
    this.fields = fields;
  }
}

export type OwnFailure = DomainError | OwnError;

function isOwn(code: OwnErrorCode): code is keyof typeof OWN_FAILURES {
  return Object.hasOwn(OWN_FAILURES, code);
}

/** Status and fixed text of a failure. */
export function failureRow(code: OwnErrorCode): { readonly status: number; readonly text: string } {
  if (isOwn(code)) return OWN_FAILURES[code];
  const { status, text } = ERRORS[code];
  return { status: STATUSES[code] ?? status, text };
}

/** The name of a failure on the wire. */
export function wireCode(code: OwnErrorCode): string {
  return code.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The sentence that tells a failure. */
export function failureText(error: OwnFailure): string {
  if (isInMemory(error)) return inMemoryWords(error);
  if (error instanceof DomainError) return encodeError(ERRORS, { failures: [] }, error).text;
  return [OWN_FAILURES[error.code].text, error.detail].filter((part) => part !== '').join(': ');
}
