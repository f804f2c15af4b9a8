/** The address of a server. */
export interface Target {
  /** `http://host:port`. */
  readonly origin: string;
  /** The root of the API's paths, such as `/panel/api`. */
  readonly apiRoot: string;
  /** `{base}`, such as `/panel`; empty where a revision has none. */
  readonly base: string;
}

/** One request as it goes over the socket: the path is sent exactly as it stands. */
export interface Call {
  readonly method: string;
  readonly path: string;
  /** Sent as written; names may come in any case. */
  readonly headers: ReadonlyMap<string, string>;
  /** Undefined: no body at all. */
  readonly body: Buffer | undefined;
  /** Instead of the caller's own, milliseconds. */
  readonly timeoutMilliseconds?: number;
  /** The most bytes that the answer's body may have, instead of the caller's own. */
  readonly answerLimit?: number;
  /** Told how many bytes of the answer's body have come. */
  readonly onProgress?: (bytes: number) => void;
  /**
   * Given the body of a success as it comes, which is then none of the answer's. Resolves to whether to read on: where not, the
   * connection is closed and the answer is what has come. It does not reject.
   */
  readonly take?: (piece: Buffer) => Promise<boolean>;
}

/** An answer. Redirects are answers like any other: nobody follows them. */
export interface Answer {
  readonly status: number;
  /** By lower-case name; a repeated header's values joined with `, `. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  /** From when the request went to its connection to the first byte of the answer, milliseconds. */
  readonly firstByteMilliseconds: number;
}

/** Sends calls over connections that it keeps open. */
export interface Caller {
  /**
   * Rejects with `NoAnswer` when there is none: the server is down, closes half-way, is too slow; with another `Error` when
   * the call cannot be written. Nothing is ever sent a second time.
   */
  send(call: Call): Promise<Answer>;
  /** Ends every connection; what is under way rejects. */
  close(): void;
}

/** The least speed of an exchange. */
export interface Pace {
  /** To connect, and from the last byte of the request to the head of the answer. */
  readonly firstByteMilliseconds: number;
  /** In each such span the request, and then the body of the answer, goes on by at least so many bytes. */
  readonly spanMilliseconds: number;
  readonly spanBytes: number;
}

/**
 * `unreachable`: no connection; `silent`: too slow; `broken`: the connection ended early, or what came is no HTTP; `too long`:
 * more than anybody means to read.
 */
export type NoAnswerKind = 'unreachable' | 'silent' | 'broken' | 'too long';

/** There is no answer, or not a whole one. The message says why, for people. */
export class NoAnswer extends Error {
  readonly kind: NoAnswerKind;
  /** True where the server may have got the request, or some of it. */
  readonly mayHaveArrived: boolean;
  /** True where an answer had begun. */
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
