import type { ToWorker } from './messages.js';
import { Packing } from './packing.js';
import type { UnreadPassed } from './traffic.js';

/** Milliseconds for which messages are gathered: each wakes the worker, which takes a core and its caches from the clients' requests. */
const GATHER = 250;

/** So many tasks wait for no more: the first of them fetches the code for all, which takes most of its time, and clients wait for all. */
const TASKS_AT_ONCE = 16;

type Post = (message: ToWorker, transferred: readonly ArrayBuffer[]) => void;

/** Gathers what is to be done about requests and what the worker is to be told, and sends that a few times a second. */
export class Outbox {
  readonly #post: Post;
  #tasks: (() => void)[] = [];
  readonly #packing = new Packing();
  /** The operations, with the time of the last such write. */
  #lost = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;

  constructor(post: Post) {
    this.#post = post;
  }

  /** Takes what is to be done about a request soon: in this order, and before what comes after it is sent. */
  soon(task: () => void): void {
    this.#tasks.push(task);
    if (this.#tasks.length === TASKS_AT_ONCE) setImmediate(() => this.#doTasks());
    this.#later();
  }

  /** Takes an exchange, whose bodies are nobody else's from now on. */
  add(passed: UnreadPassed): void {
    // What was lost before is to be known before.
    if (this.#lost.size > 0) this.flush();
    if (!this.#packing.add(passed)) {
      this.flush();
      this.#packing.add(passed);
    }
    this.#later();
  }

  /** Takes the operation of a write of which nothing comes, and when it ended, in milliseconds of the machine's clock. */
  lose(operation: string, endedAt: number): void {
    this.#lost.set(operation, endedAt);
    this.#later();
  }

  /** Does and sends all that was gathered at once. */
  flush(): void {
    this.#doTasks();
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

  #doTasks(): void {
    for (const task of this.#tasks.splice(0)) task();
  }

  #later(): void {
    this.#timer ??= setTimeout(() => this.flush(), GATHER);
  }
}
