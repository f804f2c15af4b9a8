/** The address of a server. */
export interface Target {
  /** `http://host:port`. */
  readonly origin: string;
  /** The root of the API's paths, such as `/panel/api`. */
  readonly apiRoot: string;
  /** `{base}`, such as `/panel`; empty if the revision has none. */
  readonly base: string;
}

/** One request as it is sent: the path goes out exactly as it is. */
export interface Call {
  readonly method: string;
  readonly path: string;
  /** Sent as written; names may arrive in any case. */
  readonly headers: ReadonlyMap<string, string>;
  /** Undefined for no body at all. */
  readonly body: Buffer | undefined;
  /** A body that comes piece by piece, of a length that nobody knows, instead of the other. */
  readonly pieces?: AsyncIterable<Buffer>;
  /** Milliseconds that replace the caller's own. */
  readonly timeoutMilliseconds?: number;
  /** The most bytes of the answer's body, replacing the caller's own limit. */
  readonly answerLimit?: number;
  /** Called with the number of bytes of the answer's body so far. */
  readonly onProgress?: (bytes: number) => void;
  /**
   * Takes the body of a success as it arrives; the answer's own body is then empty. Resolves to whether to read on: if
   * not, the connection is closed and the answer ends there. Must not reject.
   */
  readonly take?: (piece: Buffer) => Promise<boolean>;
}

/** An answer. Redirects are answers like any other and are never followed. */
export interface Answer {
  readonly status: number;
  /** By lower-case name; the values of a repeated header are joined with `, `. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  /** Milliseconds from sending the request on its connection to the first byte of the answer. */
  readonly firstByteMilliseconds: number;
}

/** Sends calls over connections that it keeps open. */
export interface Caller {
  /**
   * Sends a call. Rejects with `NoAnswer` if there is no answer: the server is down, closes half-way, is too slow; with
   * another `Error` if the call cannot be written. Nothing is ever sent twice.
   */
  send(call: Call): Promise<Answer>;
  /** Ends every connection; calls under way reject. */
  close(): void;
}

/** The least speed of an exchange. */
export interface Pace {
  /** Milliseconds to connect, and from the last byte of the request to the head of the answer. */
  readonly firstByteMilliseconds: number;
  /** In each span the request, and then the answer's body, must advance by at least this many bytes. */
  readonly spanMilliseconds: number;
  readonly spanBytes: number;
}

/**
 * `unreachable`: no connection; `silent`: too slow; `broken`: the connection ended early, or what arrived is not HTTP;
 * `too long`: more than the caller would read.
 */
export type NoAnswerKind = 'unreachable' | 'silent' | 'broken' | 'too long';

/** There is no answer, or only part of one. The message says why, for the user. */
export class NoAnswer extends Error {
  readonly kind: NoAnswerKind;
  /** True if the server may have received the request, or part of it. */
  readonly mayHaveArrived: boolean;
  /** True if an answer had begun. */
  readonly hasBegun: boolean;

  constructor(kind: NoAnswerKind, message: string, how: { mayHaveArrived: boolean; hasBegun?: boolean }) {
    super(message);
    this.name = 'NoAnswer';
    this.kind = kind;
    this.mayHaveArrived = how.mayHaveArrived;
    this.hasBegun = how.hasBegun ?? false;
  }
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}
