import { readExchange } from '../replay/record/passed-heads.js';
import type { Passed, UnreadPassed } from './traffic.js';

/** Exchanges on their way to the worker. */
export interface Packed {
  readonly number: number;
  /** For each exchange three lengths of 32 bits (head, request body, response body) and these parts; bodies above `ALONE` are in `large`. */
  readonly bytes: Uint8Array;
  /** Bodies above `ALONE`, in their order. */
  readonly large: readonly Uint8Array[];
}

/** An exchange without its bodies. */
type Head = Omit<UnreadPassed, 'requestBody' | 'responseBody'>;

/** Bytes of a body above which it is not copied beside others. Node reads half of that at once: it was put together of pieces, so that no client waits for its bytes. */
export const ALONE = 128 * 1024;

const LENGTH = Uint32Array.BYTES_PER_ELEMENT;
/** Bytes that are packed together, unless a single exchange has more. */
const PACKED_AT_ONCE = 256 * 1024;

/** Packs exchanges as bytes. As objects they would be copied for the worker all at once, which would keep the clients' thread for milliseconds. */
export class Packing {
  /** Kept for those that come after. */
  #bytes = Buffer.allocUnsafeSlow(PACKED_AT_ONCE);
  #filled = 0;
  #number = 0;
  #large: Buffer[] = [];

  get isEmpty(): boolean {
    return this.#number === 0;
  }

  /** Takes an exchange, whose bodies are nobody else's from now on; false where there is no room for it beside the others. */
  add(passed: UnreadPassed): boolean {
    const [head, bodies] = [Buffer.from(linesOf(passed)), [passed.requestBody, passed.responseBody]];
    const together = [head, ...bodies.filter(({ length }) => length <= ALONE)];
    const needed = together.reduce((sum, { length }) => sum + length, 3 * LENGTH);
    if (this.#filled + needed > this.#bytes.length) {
      if (this.#number > 0) return false;
      this.#bytes = Buffer.allocUnsafeSlow(needed);
    }
    for (const { length } of [head, ...bodies]) this.#filled = this.#bytes.writeUInt32LE(length, this.#filled);
    for (const part of together) this.#filled += part.copy(this.#bytes, this.#filled);
    this.#large.push(...bodies.filter(({ length }) => length > ALONE).map(withOwnMemory));
    this.#number += 1;
    return true;
  }

  /** Returns what is packed, with the memory that it takes along, and begins anew. */
  take(): { readonly packed: Packed; readonly memory: readonly ArrayBuffer[] } {
    const [number, large] = [this.#number, this.#large];
    // Thousands may wait, each with little in it.
    const bytes = copyOf(this.#bytes.subarray(0, this.#filled));
    this.#filled = 0;
    this.#number = 0;
    this.#large = [];
    const memory = [bytes, ...large].flatMap(({ buffer }) => (buffer instanceof ArrayBuffer ? [buffer] : []));
    return { packed: { number, bytes, large }, memory };
  }
}

/**
 * Writes a head as lines: none of its texts has an end of a line in it, which Node's parser refuses, but for what writes have
 * named. Clients wait meanwhile, and JSON would take twice as long.
 */
function linesOf(head: Head): string {
  const { sequence, client, method, path, status, startedAt, beside, requestHead, responseHead } = head;
  const about = [sequence, client, method, path, status, startedAt, JSON.stringify(beside), requestHead.length];
  return [...about, ...requestHead, ...responseHead].join('\n');
}

function headIn(lines: string): Head {
  const [sequence, client = '', method = '', path = '', status, startedAt, beside = '', size, ...texts] =
    lines.split('\n');
  return {
    sequence: Number(sequence),
    client,
    method,
    path,
    status: Number(status),
    startedAt: Number(startedAt),
    beside: JSON.parse(beside),
    requestHead: texts.slice(0, Number(size)),
    responseHead: texts.slice(Number(size)),
  };
}

/** Returns a body, or its copy where others share its memory. */
function withOwnMemory(body: Buffer): Buffer {
  return body.buffer.byteLength === body.length ? body : copyOf(body);
}

/** Returns a copy that shares its memory with nothing. */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

/** Unpacks one exchange after the other: those that wait stay bytes. */
export function* unpacked({ number, bytes, large }: Packed): Generator<Passed> {
  const packed = bufferOf(bytes);
  const bodies = large.map(bufferOf);
  let at = 0;
  const take = (length: number) => {
    at += length;
    return packed.subarray(at - length, at);
  };
  const takeBody = (length: number) => (length > ALONE ? (bodies.shift() ?? NONE) : take(length));
  for (let index = 0; index < number; index += 1) {
    const [head, request, response] = [0, 1, 2].map((each) => packed.readUInt32LE(at + each * LENGTH));
    at += 3 * LENGTH;
    const about = headIn(take(head ?? 0).toString());
    yield readExchange({ ...about, requestBody: takeBody(request ?? 0), responseBody: takeBody(response ?? 0) });
  }
}

const NONE = Buffer.alloc(0);

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
