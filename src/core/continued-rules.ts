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
  for (const identityOf of [wholeOf, matchOf]) {
    // The first is last, where it is taken from.
    const free = new Map<string, number[]>();
    for (const place of [...left].reverse()) {
      const identity = identityOf(present[place]);
      const alike = free.get(identity);
      if (alike === undefined) free.set(identity, [place]);
      else alike.push(place);
    }
    for (const [index, rule] of written.entries())
      if (places[index] === null) take(index, free.get(identityOf(rule))?.pop());
  }
  if (written.length === present.length) for (const index of written.keys()) take(index, index);
  return places;
}

/** The places of equal rules at the beginnings and at the ends of both lists. */
function* endsOf(written: readonly OutboundRule[], present: readonly (OutboundRule | null)[]) {
  const most = Math.min(written.length, present.length);
  let head = 0;
  for (; head < most && isSameRule(written[head], present[head]); head += 1) yield { index: head, place: head };
  for (let tail = 1; tail <= most - head && isSameRule(written.at(-tail), present.at(-tail)); tail += 1)
    yield { index: written.length - tail, place: present.length - tail };
}

export function isSameRule(one: OutboundRule | null | undefined, other: OutboundRule | null | undefined): boolean {
  if (!one || !other || one.action !== other.action || one.protocol !== other.protocol) return false;
  if ((one.sendFrom ?? null) !== (other.sendFrom ?? null)) return false;
  return areSameTexts(one.domainSuffix, other.domainSuffix) && areSameTexts(one.ipCidr, other.ipCidr);
}

function areSameTexts(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, index) => text === other[index]);
}

/** Returns a text that only rules with the same domains, addresses and protocol share. */
const matchOf = (rule: OutboundRule | null | undefined): string =>
  rule ? JSON.stringify([rule.domainSuffix, rule.ipCidr, rule.protocol]) : '';

/** Returns a text that only equal rules share. */
const wholeOf = (rule: OutboundRule | null | undefined): string =>
  rule ? JSON.stringify([matchOf(rule), rule.action, rule.sendFrom ?? null]) : '';
