import type { ToWorker } from './messages.js';
import { Packing } from './packing.js';
import { machineTime, type Passed } from './traffic.js';

/** Milliseconds for which messages are gathered: each wakes the worker, which takes a core and its caches from the clients' requests. */
const GATHER = 250;

type Post = (message: ToWorker, transferred: readonly ArrayBuffer[]) => void;

/** Gathers what the worker is to be told, and sends it a few times a second. */
export class Outbox {
  readonly #post: Post;
  readonly #packing = new Packing();
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
    if (!this.#packing.add(passed)) {
      this.flush();
      this.#packing.add(passed);
    }
    this.#later();
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
    const lost = this.#lost;
    this.#lost = new Map();
    if (!this.#packing.isEmpty) {
      const { packed, memory } = this.#packing.take();
      this.#post({ kind: 'passed', packed }, memory);
    }
    for (const [operation, at] of lost) this.#post({ kind: 'lost', operation, at }, []);
  }

  #later(): void {
    this.#timer ??= setTimeout(() => this.flush(), GATHER);
  }
}
