/** Every way an operation can fail for a reason of the domain. `wire/errors.ts` gives each its status and text. */
export type DomainErrorCode =
  | 'unauthorized'
  | 'authNotConfigured'
  | 'tooManyLogins'
  | 'userNotFound'
  | 'saveFailed'
  | 'savedInMemory'
  | 'backendAway'
  | 'outcomeUnknown'
  | 'upstreamAway'
  | 'upstreamSilent'
  | 'upstreamRefused'
  | 'countTooLarge'
  | 'bulkIncomplete'
  | 'countedElsewhere'
  | 'noConfigPath'
  | 'configModeMissing'
  | 'configReadFailed'
  | 'configStripFailed'
  | 'configParseFailed'
  | 'configFormatFailed'
  | 'configWriteFailed'
  | 'configRefused'
  | 'outboundNotConfigured'
  | 'preconditionFailed'
  | 'conflict'
  | 'useKeys'
  | 'unreadableByServer'
  | 'lockOut'
  | 'invalidBody'
  | 'notJson'
  | 'bodyTooLarge'
  | 'tooManyBodies'
  | 'bodyTooSlow'
  | 'tooManyRequests'
  | 'tooManyWaiting'
  | 'notPermitted';

const AWAY: ReadonlySet<DomainErrorCode> = new Set<DomainErrorCode>([
  'backendAway',
  'outcomeUnknown',
  'upstreamAway',
  'upstreamSilent',
  'upstreamRefused',
  'tooManyWaiting',
]);

/**
 * Tells whether a failure lies with the holder of the state and not with the change itself, so that a retry may
 * succeed.
 */
export function isAway(error: unknown): boolean {
  return error instanceof DomainError && AWAY.has(error.code);
}

/** An error's message without its class; anything else that was thrown, as a text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Tells whether a change is in force and only its file was not written: the log says so, and the next write carries it.
 */
export function isInMemory(error: unknown): error is DomainError {
  return error instanceof DomainError && error.code === 'savedInMemory';
}

/** Ignores that a change is in memory alone, because the next write carries it; throws every other error. */
export function unlessInMemory(error: unknown): void {
  if (!isInMemory(error)) throw error;
}

/** Resolves to null where a change was saved, to the error where it is in memory alone. */
export async function unsavedBy(change: Promise<void>): Promise<DomainError | null> {
  try {
    await change;
    return null;
  } catch (error) {
    if (isInMemory(error)) return error;
    throw error;
  }
}

/** Says in whose memory alone a change is, and why; a running server does not tell why. */
export function inMemoryWords({ detail }: DomainError): string {
  return detail === '' ? 'in the memory of the server until it ends; not in its file: its log says why' : detail;
}

/**
 * A failure that the caller is told about. `detail` follows the fixed text of the error table where that allows one.
 */
export class DomainError extends Error {
  readonly code: DomainErrorCode;
  readonly detail: string;
  /** Whole seconds after which it is worth asking again; null where that is not known. */
  readonly retryAfter: number | null;

  constructor(code: DomainErrorCode, detail = '', retryAfter: number | null = null) {
    super(detail === '' ? code : `${code}: ${detail}`);
    this.name = 'DomainError';
    this.code = code;
    this.detail = detail;
    this.retryAfter = retryAfter;
  }
}
