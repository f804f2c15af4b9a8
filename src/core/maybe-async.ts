/** A value, or a promise of it. */
export type MaybeAsync<T> = T | Promise<T>;
