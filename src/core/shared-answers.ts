import type { ClockPort } from './ports.js';

/** The most answers of one state that are kept, and for how many milliseconds. */
const MOST_KEPT = 16;
const KEPT = 1_000;

/** Shares answers between callers who waited for the same change: each is made once per state. */
export class SharedAnswers<Answer> {
  readonly #clock: Pick<ClockPort, 'monotonic'>;
  #state = '';
  readonly #answers = new Map<string, Answer>();

  constructor(clock: Pick<ClockPort, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Returns the answer to this question in this state. */
  of(state: string, question: string, make: () => Answer): Answer {
    if (state !== this.#state) this.#answers.clear();
    this.#state = state;
    const known = this.#answers.get(question);
    if (known !== undefined) return known;
    const made = make();
    if (this.#answers.size === 0) this.#forgetAt(this.#clock.monotonic() + KEPT);
    if (this.#answers.size < MOST_KEPT) this.#answers.set(question, made);
    return made;
  }

  /** Forgets the answers at this monotonic time, so that they take no memory until the next change. */
  #forgetAt(due: number): void {
    const forget = () => (this.#clock.monotonic() < due ? this.#forgetAt(due) : this.#answers.clear());
    setTimeout(forget, KEPT).unref();
  }
}
