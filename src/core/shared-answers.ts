/** The most answers of one state that are kept, and for how many milliseconds. */
const MOST_KEPT = 16;
const KEPT = 1_000;

/** Shares answers between callers who waited for the same change: each is made once per state. */
export class SharedAnswers<Answer> {
  #state = '';
  readonly #answers = new Map<string, Answer>();

  /** Returns the answer to this question in this state. */
  of(state: string, question: string, make: () => Answer): Answer {
    if (state !== this.#state) this.#answers.clear();
    this.#state = state;
    const known = this.#answers.get(question);
    if (known !== undefined) return known;
    const made = make();
    if (this.#answers.size === 0) setTimeout(() => this.#answers.clear(), KEPT).unref();
    if (this.#answers.size < MOST_KEPT) this.#answers.set(question, made);
    return made;
  }
}
