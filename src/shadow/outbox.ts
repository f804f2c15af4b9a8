import type { CopiedPassed, ToWorker } from './messages.js';
import type { DroppedRequest, Passed } from './traffic.js';

/** Milliseconds for which messages are gathered: fewer of them wake both threads less often. */
const GATHER = 20;

/** Gathers what the worker is to be told, and sends it a few times a second, with one copy of all bodies. */
export class Outbox {
  readonly #post: (message: ToWorker, transferred: readonly ArrayBuffer[]) => void;
  #passed: Passed[] = [];
  #dropped = new Map<string, { readonly request: DroppedRequest; times: number }>();
  #timer: NodeJS.Timeout | null = null;

  constructor(post: (message: ToWorker, transferred: readonly ArrayBuffer[]) => void) {
    this.#post = post;
  }

  add(passed: Passed): void {
    this.#passed.push(passed);
    this.#timer ??= setTimeout(() => this.flush(), GATHER);
  }

  drop(request: DroppedRequest): void {
    const name = JSON.stringify(request);
    const known = this.#dropped.get(name);
    if (known === undefined) this.#dropped.set(name, { request, times: 1 });
    else known.times += 1;
    this.#timer ??= setTimeout(() => this.flush(), GATHER);
  }

  /** Sends all that was gathered at once. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const [passed, dropped] = [this.#passed, this.#dropped];
    this.#passed = [];
    this.#dropped = new Map();
    if (passed.length > 0) {
      const bodies = new ArrayBuffer(passed.reduce((sum, each) => sum + bytesOf(each), 0));
      this.#post({ kind: 'passed', passed: copiesIn(bodies, passed) }, [bodies]);
    }
    for (const { request, times } of dropped.values()) this.#post({ kind: 'dropped', ...request, times }, []);
  }
}

/** Bytes of an exchange that wait for the shadow. */
export function bytesOf({ requestBody, responseBody }: Readonly<Record<'requestBody' | 'responseBody', Uint8Array>>) {
  return requestBody.length + responseBody.length;
}

function copiesIn(bodies: ArrayBuffer, passed: readonly Passed[]): readonly CopiedPassed[] {
  let at = 0;
  const copy = (body: Buffer) => {
    const copied = new Uint8Array(bodies, at, body.length);
    copied.set(body);
    at += body.length;
    return copied;
  };
  return passed.map((each) => ({
    ...each,
    requestBody: copy(each.requestBody),
    responseBody: copy(each.responseBody),
  }));
}
