import { DomainError, type DomainErrorCode } from '../core/errors.js';

/** Why a call to a running server brought nothing that can be used. */
export type UpstreamErrorCode = Extract<DomainErrorCode, `upstream${string}`>;

/**
 * A call without an answer of the API. What the server itself refused is a `DomainError` with the code of that refusal and
 * none of these. The detail names the server, says since when it is away, and holds nothing secret.
 */
export class UpstreamError extends DomainError {
  /** True for a write that the server may have done all the same. */
  readonly mayHaveHappened: boolean;
  /** False for a refusal that lasts until the settings are others. */
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

/** Returns whether the server may have done a write all the same that ended so. */
export function mayHaveHappened(error: unknown): boolean {
  return error instanceof UpstreamError && error.mayHaveHappened;
}
