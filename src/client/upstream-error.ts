import { DomainError, type DomainErrorCode } from '../core/errors.js';

/** Why a call to a running server had no usable result. */
export type UpstreamErrorCode = Extract<DomainErrorCode, `upstream${string}`>;

/**
 * The error of a call without an answer from the API. The server's own refusals are `DomainError`s with the code of the
 * refusal. The detail names the server, says since when it is away, and contains nothing secret.
 */
export class UpstreamError extends DomainError {
  /** True for a write that the server may have done anyway. */
  readonly mayHaveHappened: boolean;
  /** False for a refusal that lasts until the settings change. */
  readonly isForNow: boolean;

  constructor(
    code: UpstreamErrorCode,
    detail: string,
    more: { readonly mayHaveHappened: boolean; readonly retryAfter: number; readonly isForNow?: boolean },
  ) {
    super(code, detail, more.retryAfter);
    this.name = 'UpstreamError';
    this.mayHaveHappened = more.mayHaveHappened;
    this.isForNow = more.isForNow ?? true;
  }
}

/** Tells whether the server may have done a write that failed with this error. */
export function mayHaveHappened(error: unknown): boolean {
  return error instanceof UpstreamError && error.mayHaveHappened;
}
