import { messageOf } from '../core/errors.js';
/** Returns an error as a clause for the log. Several connection attempts hide theirs in one error without a message. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(reasonOf).join(', ');
  return messageOf(error);
}
