import { DomainError } from '../core/errors.js';

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i;

/** The time that a member of a body says, in milliseconds since the epoch. Throws `invalidBody`. */
export function timeIn(member: string, text: string): number {
  const time = RFC_3339.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time))
    throw new DomainError('invalidBody', `${member}: expected a time such as 2027-01-31T12:00:00Z`);
  return time;
}
