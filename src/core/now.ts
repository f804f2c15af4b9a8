/** A value that is there, or will be. */
export type Now<T> = T | Promise<T>;

/** Goes on with a value in the same turn of the event loop where it is there, else once it is. */
export function withNow<T, U>(value: Now<T>, then: (value: T) => Now<U>): Now<U> {
  return value instanceof Promise ? value.then(then) : then(value);
}
