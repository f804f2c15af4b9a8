/** A value that is there, or will be. */
export type MaybeAsync<T> = T | Promise<T>;

/** Goes on with a value in the same turn of the event loop where it is there, else once it is. */
export function mapMaybeAsync<T, U>(value: MaybeAsync<T>, then: (value: T) => MaybeAsync<U>): MaybeAsync<U> {
  return value instanceof Promise ? value.then(then) : then(value);
}
