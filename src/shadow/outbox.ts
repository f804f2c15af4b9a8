import type { CopiedPassed, ToWorker } from './messages.js';
import { bytesOf, LARGE, machineTime, type Passed } from './traffic.js';

/** Milliseconds for which messages are gathered: each wakes the worker, which takes a core and its caches from the clients' requests. */
const GATHER = 250;
/** Bytes that are sent at once. */
const MOST_GATHERED = 1024 * 1024;

type Post = (message: ToWorker, transferred: readonly ArrayBuffer[]) => void;

/** Gathers what the worker is to be told, and sends it a few times a second. */
export class Outbox {
  readonly #post: Post;
  #passed: Passed[] = [];
  #bytes = 0;
  /** The operations, with the time of the last such write. */
  #lost = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;

  constructor(post: Post) {
    this.#post = post;
  }

  /** Takes an exchange, whose bodies are nobody else's from now on. */
  add(passed: Passed): void {
    // What was lost before is to be known before.
    if (this.#lost.size > 0) this.flush();
    this.#passed.push(passed);
    this.#bytes += bytesOf(passed);
    if (this.#bytes > MOST_GATHERED) this.flush();
    else this.#later();
  }

  /** Takes the operation of a write of which nothing comes. */
  lose(operation: string): void {
    this.#lost.set(operation, machineTime());
    this.#later();
  }

  /** Sends all that was gathered at once. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const [passed, lost] = [this.#passed, this.#lost];
    this.#passed = [];
    this.#bytes = 0;
    this.#lost = new Map();
    if (passed.length > 0) {
      const bodies = new Bodies(passed);
      this.#post({ kind: 'passed', passed: passed.map((each) => bodies.moved(each)) }, bodies.transferred);
    }
    for (const [operation, at] of lost) this.#post({ kind: 'lost', operation, at }, []);
  }

  #later(): void {
    this.#timer ??= setTimeout(() => this.flush(), GATHER);
  }
}

/** The bodies of exchanges on their way to another thread: large ones as they are, the others copied into one buffer. */
class Bodies {
  readonly #small: ArrayBuffer;
  readonly #large = new Set<ArrayBuffer>();
  #filled = 0;

  constructor(passed: readonly Passed[]) {
    const small = passed.flatMap(({ requestBody, responseBody }) => [requestBody, responseBody]);
    this.#small = new ArrayBuffer(small.reduce((sum, body) => sum + (ownBuffer(body) === null ? body.length : 0), 0));
  }

  get transferred(): readonly ArrayBuffer[] {
    return [this.#small, ...this.#large];
  }

  moved(passed: Passed): CopiedPassed {
    const [requestBody, responseBody] = [this.#moved(passed.requestBody), this.#moved(passed.responseBody)];
    return { ...passed, requestBody, responseBody };
  }

  #moved(body: Buffer): Uint8Array {
    const own = ownBuffer(body);
    if (own !== null) {
      this.#large.add(own);
      return new Uint8Array(own);
    }
    const copied = new Uint8Array(this.#small, this.#filled, body.length);
    copied.set(body);
    this.#filled += body.length;
    return copied;
  }
}

/** The memory of a large body, which was put together of pieces, or null: one that came in one piece may still be on its way to the client. */
function ownBuffer({ buffer, length }: Buffer): ArrayBuffer | null {
  return length > LARGE && buffer instanceof ArrayBuffer && buffer.byteLength === length ? buffer : null;
}
