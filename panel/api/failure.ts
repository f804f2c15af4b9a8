/** The ways in which a call to a server fails; each has its sentence in the language tables. */
export type FailureKind =
  /** No answer: the server is away, or the browser was not let through. */
  | 'unreachable'
  /** No whole answer in time. */
  | 'timeout'
  /** 401. */
  | 'unauthorized'
  /** The server has no such operation. */
  | 'absent'
  /** A web page came where an answer was expected. */
  | 'page'
  /** An answer that is no envelope, or half of one, or has other members than expected. */
  | 'garbled'
  /** 5xx. */
  | 'broken'
  /** It was done, and is in memory alone; `detail` says where and why, if that is told. */
  | 'inMemory'
  /** It could not be written; as a rule it was done in memory. */
  | 'unsaved'
  /** The server said no, and why. */
  | 'refused'
  /** A browser cannot send this path (`.` and `..` as keys). */
  | 'unaddressable';

/** A call that failed. `detail` is the server's own sentence, or the place in its answer. */
export class ApiFailure extends Error {
  readonly kind: FailureKind;
  readonly detail: string;
  readonly status: number;
  /** Seconds that the server asks to wait, or null. */
  readonly retryAfter: number | null;
  /** The envelope that tells the failure; empty where there is none. Keyway's own interface names it by `code`. */
  readonly envelope: Readonly<Record<string, unknown>>;

  constructor(
    kind: FailureKind,
    detail = '',
    status = 0,
    retryAfter: number | null = null,
    envelope: ApiFailure['envelope'] = {},
  ) {
    super(`${kind} ${status} ${detail}`);
    this.kind = kind;
    this.detail = detail;
    this.status = status;
    this.retryAfter = retryAfter;
    this.envelope = envelope;
  }
}

/** Returns true for a call that failed in one of these ways, or with one of these statuses. */
export function hasFailed(error: unknown, ...ways: readonly (FailureKind | number)[]): error is ApiFailure {
  return error instanceof ApiFailure && (ways.includes(error.kind) || ways.includes(error.status));
}

/** Returns true where the server does not offer the operation at all, as opposed to refusing this call. */
export function isAbsent(error: unknown): boolean {
  return hasFailed(error, 'absent', 'page');
}

/** Returns true where something is another one by now than the change was meant for. */
export function isChangedMeanwhile(error: unknown): boolean {
  return hasFailed(error, 412);
}

export function isAway(error: unknown): boolean {
  return hasFailed(error, 'unreachable', 'timeout', 'broken', 'garbled', 'page');
}
