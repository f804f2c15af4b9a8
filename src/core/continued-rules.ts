import { type Likeness, placesContinued } from './continued-items.js';
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
  const places = placesContinued(written.map(saidOf), present.map(saidOf), RULES);
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

function isSameRule(one: OutboundRule, other: OutboundRule): boolean {
  if (one.action !== other.action || one.protocol !== other.protocol) return false;
  if ((one.sendFrom ?? null) !== (other.sendFrom ?? null)) return false;
  return areSameTexts(one.domainSuffix, other.domainSuffix) && areSameTexts(one.ipCidr, other.ipCidr);
}

function areSameTexts(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, index) => text === other[index]);
}

/** Returns a text that only rules with the same domains, addresses and protocol share. */
const matchOf = (rule: OutboundRule): string => JSON.stringify([rule.domainSuffix, rule.ipCidr, rule.protocol]);

/** Returns a text that only equal rules share. */
const wholeOf = (rule: OutboundRule): string => JSON.stringify([matchOf(rule), rule.action, rule.sendFrom ?? null]);

/** Rules are the same ones, else those with the same domains, addresses and protocol, whatever their action. */
export const RULES: Likeness<OutboundRule> = { isSame: isSameRule, identities: [wholeOf, matchOf] };
