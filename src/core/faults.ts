type FaultName = 'none' | 'away' | 'error' | 'signed-out' | `slow=${number}`;

/**
 * A fault that a gateway for tests has on demand: `away` ends connections without an answer, `slow=MS` delays answers
 * by MS milliseconds, `error` answers 500, `signed-out` ends every session and refuses the static token, `none` ends
 * the fault. With `*N` appended, only the next N requests meet it.
 */
export type FaultText = FaultName | `${FaultName}*${number}`;

/** The words that name a fault, for messages. */
export const FAULT_EXPECTED =
  'none, away, error, signed-out or slow=MILLISECONDS, perhaps with * and a number of requests behind it';

/** A parsed fault. */
export interface Fault {
  readonly kind: 'none' | 'away' | 'error' | 'signed-out' | 'slow';
  /** The delay of `slow`; 0 for every other fault. */
  readonly milliseconds: number;
  /** The requests that meet it; Infinity for all. */
  readonly requests: number;
}

const KINDS = ['none', 'away', 'error', 'signed-out'] as const;
export const NO_FAULT: Fault = { kind: 'none', milliseconds: 0, requests: Number.POSITIVE_INFINITY };

/** Reads a fault; undefined if the text is not one. */
export function readFault(text: string): Fault | undefined {
  const [, name = '', milliseconds, count] = /^([a-z-]+)(?:=(\d{1,5}))?(?:\*([1-9]\d{0,5}))?$/.exec(text) ?? [];
  const requests = count === undefined ? Number.POSITIVE_INFINITY : Number(count);
  if (milliseconds !== undefined)
    return name === 'slow' ? { kind: 'slow', milliseconds: Number(milliseconds), requests } : undefined;
  const kind = KINDS.find((known) => known === name);
  return kind === undefined ? undefined : { kind, milliseconds: 0, requests };
}

/** The fault that a gateway for tests has at present. */
export class Faults {
  #fault: Fault;
  #left: number;

  constructor(fault: Fault) {
    this.#fault = fault;
    this.#left = fault.requests;
  }

  set(fault: Fault): void {
    this.#fault = fault;
    this.#left = fault.requests;
  }

  /** Returns the fault that the next request meets, and counts that request. */
  next(): Fault {
    if (this.#left === 0) return NO_FAULT;
    this.#left -= 1;
    return this.#fault;
  }
}
