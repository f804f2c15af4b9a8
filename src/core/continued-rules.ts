import { isDeepStrictEqual } from 'node:util';
import type { OutboundRule } from './model.js';

/** The members of a rule that a revision may have no word for. */
export type UnsaidMember = 'protocol' | 'sendFrom';

/** Written rules with what their writer could not say, and the number of present rules whose such members go. */
export interface ContinuedRules {
  readonly rules: readonly OutboundRule[];
  readonly lost: number;
}

/** Gives written rules the members that their writer could not say, from the present rules that they continue (design: "An outbound rule"). */
export function continueRules(
  written: readonly OutboundRule[],
  present: readonly OutboundRule[],
  unsaid: readonly UnsaidMember[],
): ContinuedRules {
  const saidOf = (rule: OutboundRule) => ({ ...rule, ...Object.fromEntries(unsaid.map((member) => [member, null])) });
  const places = placesContinued(written.map(saidOf), present.map(saidOf));
  const rules = written.map((rule, index) => {
    const continued = present[places[index] ?? -1];
    return continued === undefined ? rule : { ...rule, ...unsaidOf(continued, unsaid) };
  });
  const used = new Set(places);
  const lost = present.filter((rule, place) => !used.has(place) && Object.keys(unsaidOf(rule, unsaid)).length > 0);
  return { rules, lost: lost.length };
}

function unsaidOf(rule: OutboundRule, unsaid: readonly UnsaidMember[]): Partial<OutboundRule> {
  return Object.fromEntries(
    unsaid.flatMap((member) => (rule[member] == null ? [] : [[member, rule[member]] as const])),
  );
}

/**
 * For each written rule the place of the present one that it continues: the first unused one with the same domains, addresses
 * and protocol, whatever its action, else the one at its own place where there are as many; null for none.
 */
export function placesContinued(
  written: readonly OutboundRule[],
  present: readonly (OutboundRule | null)[],
): readonly (number | null)[] {
  const left = new Set(present.keys());
  const take = (place: number): number | null => (left.delete(place) ? place : null);
  const matching = written.map((rule) => {
    const place = [...left].find((each) => matches(rule, present[each]));
    return place === undefined ? null : take(place);
  });
  return matching.map((place, index) => place ?? (written.length === present.length ? take(index) : null));
}

function matches(one: OutboundRule, other: OutboundRule | null | undefined): boolean {
  if (!other || one.protocol !== other.protocol) return false;
  return isDeepStrictEqual([one.domainSuffix, one.ipCidr], [other.domainSuffix, other.ipCidr]);
}
