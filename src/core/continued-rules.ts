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
 * For each written rule the place of the present one that it continues: that of an equal rule at either end of both lists, else the
 * first unused equal one, else the first unused one with the same domains, addresses and protocol, whatever its action, else the one
 * at its own place where there are as many; null for none.
 */
export function placesContinued(
  written: readonly OutboundRule[],
  present: readonly (OutboundRule | null)[],
): readonly (number | null)[] {
  const left = new Set(present.keys());
  const places: (number | null)[] = written.map(() => null);
  const take = (index: number, place: number | undefined): void => {
    if (place !== undefined && places[index] === null && left.delete(place)) places[index] = place;
  };
  for (const at of endsOf(written, present)) take(at.index, at.place);
  for (const fits of [isSame, matches])
    for (const [index, rule] of written.entries())
      if (places[index] === null)
        take(
          index,
          [...left].find((place) => fits(rule, present[place])),
        );
  if (written.length === present.length) for (const index of written.keys()) take(index, index);
  return places;
}

/** The places of equal rules at the beginnings and at the ends of both lists. */
function* endsOf(written: readonly OutboundRule[], present: readonly (OutboundRule | null)[]) {
  const most = Math.min(written.length, present.length);
  let head = 0;
  for (; head < most && isSame(written[head], present[head]); head += 1) yield { index: head, place: head };
  for (let tail = 1; tail <= most - head && isSame(written.at(-tail), present.at(-tail)); tail += 1)
    yield { index: written.length - tail, place: present.length - tail };
}

function isSame(one: OutboundRule | undefined, other: OutboundRule | null | undefined): boolean {
  if (!one || !other || one.action !== other.action || !matches(one, other)) return false;
  return (one.sendFrom ?? null) === (other.sendFrom ?? null);
}

function matches(one: OutboundRule, other: OutboundRule | null | undefined): boolean {
  if (!other || one.protocol !== other.protocol) return false;
  return isDeepStrictEqual([one.domainSuffix, one.ipCidr], [other.domainSuffix, other.ipCidr]);
}
