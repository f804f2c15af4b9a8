/** A value, or a promise of it. */
export type MaybeAsync<T> = T | Promise<T>;

/** Goes on with a value in this turn if it is there: each wait for a promise costs as much as a check of a credential. */
export function andThen<T, Next>(value: MaybeAsync<T>, next: (value: T) => MaybeAsync<Next>): MaybeAsync<Next> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Hands a failure to `fail`, whether it comes in this turn or later. */
export function orElse<T>(attempt: () => MaybeAsync<T>, fail: (error: unknown) => T): MaybeAsync<T> {
  try {
    const value = attempt();
    return value instanceof Promise ? value.catch(fail) : value;
  } catch (error) {
    return fail(error);
  }
}
