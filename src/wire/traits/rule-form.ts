import type { Static, TSchema } from 'typebox';
import type { UnsaidMember } from '../../core/continued-rules.js';
import type { OutboundRule } from '../../core/model.js';
import type { Encodable } from '../json/write-json.js';
import { optional, orNull, text, texts } from '../schemas.js';
import { Type } from '../typebox.js';

/** A revision's form of an outbound rule (design: "An outbound rule"). */
export interface RuleForm {
  readonly name: string;
  /** The schema of the list in a body, and of the list in an answer. */
  readonly body: TSchema;
  readonly answer: TSchema;
  encode(rule: OutboundRule): Encodable;
  decode(wire: WireOutboundRule): OutboundRule;
  /** The members of a rule that the form cannot express; a written rule gets them from the one that it continues. */
  readonly unsaid: readonly UnsaidMember[];
}

const bodyMembers = {
  domain_suffix: optional(texts('Suffixes.'), 'an array of strings', 'Domain suffixes that the rule matches.'),
  ip_cidr: optional(texts('Networks.'), 'an array of strings', 'Networks that the rule matches, in CIDR notation.'),
};
const bodyProtocol = {
  protocol: optional(text('Text.'), 'a string or null', 'Transport protocol that the rule matches; null for any.'),
};
const bodyMembersWithoutNull = {
  domain_suffix: Type.Optional(texts('Domain suffixes that the rule matches.')),
  ip_cidr: Type.Optional(texts('Networks that the rule matches, in CIDR notation.')),
};
const bodySendFrom = {
  send_from: optional(text('Text.'), 'a string or null', 'Address from which such connections leave; null for any.'),
};
const bodyAction = {
  action: Type.Union([Type.Literal('proxy'), Type.Literal('direct'), Type.Literal('block')], {
    expected: 'one of "proxy", "direct", "block"',
    description: 'What happens to a connection that matches.',
  }),
};
const ofRules = <S extends TSchema>(rule: S) =>
  Type.Array(rule, {
    expected: 'a JSON array of outbound rules',
    description: 'The outbound rules, first match wins.',
  });
const ONE_RULE = { expected: 'an outbound rule (a JSON object)' };

const bodyWithProtocol = Type.Object({ ...bodyMembers, ...bodyProtocol, ...bodyAction }, ONE_RULE);
const bodyWithSendFrom = Type.Object(
  { ...bodyMembersWithoutNull, ...bodyProtocol, ...bodyAction, ...bodySendFrom },
  { ...ONE_RULE, fewestElements: 4 },
);

export type WireOutboundRule = Static<typeof bodyWithProtocol> & Pick<Static<typeof bodyWithSendFrom>, 'send_from'>;

const answerMembers = {
  domain_suffix: Type.Array(Type.String(), { description: 'Domain suffixes that the rule matches.' }),
  ip_cidr: Type.Array(Type.String(), { description: 'Networks that the rule matches.' }),
};
const answerProtocol = { protocol: orNull(Type.String(), 'a string or null', 'Transport protocol; null for any.') };
const answerSendFrom = {
  send_from: orNull(Type.String(), 'a string or null', 'Address from which such connections leave; null for any.'),
};
const answerAction = { action: Type.Union([Type.Literal('proxy'), Type.Literal('direct'), Type.Literal('block')]) };

/** Absent lists are empty, an absent protocol is null. */
function decodeWithProtocol(wire: WireOutboundRule): OutboundRule {
  return {
    domainSuffix: wire.domain_suffix ?? [],
    ipCidr: wire.ip_cidr ?? [],
    protocol: wire.protocol ?? null,
    action: wire.action,
  };
}

function encodeWithProtocol(rule: OutboundRule) {
  return { domain_suffix: rule.domainSuffix, ip_cidr: rule.ipCidr, protocol: rule.protocol, action: rule.action };
}

/** Four members, as in the current revision. */
export const ruleWithProtocol: RuleForm = {
  name: 'with protocol',
  body: ofRules(bodyWithProtocol),
  answer: Type.Array(Type.Object({ ...answerMembers, ...answerProtocol, ...answerAction })),
  encode: encodeWithProtocol,
  decode: decodeWithProtocol,
  unsaid: ['sendFrom'],
};

/** Five members, all of which a rule in the file has; lists may be left out and are never null. */
export const ruleWithSendFrom: RuleForm = {
  name: 'with protocol and send_from',
  body: ofRules(bodyWithSendFrom),
  answer: Type.Array(Type.Object({ ...answerMembers, ...answerProtocol, ...answerAction, ...answerSendFrom })),
  encode: (rule) => ({ ...encodeWithProtocol(rule), send_from: rule.sendFrom ?? null }),
  decode: (wire) => ({
    ...decodeWithProtocol(wire),
    sendFrom: wire.send_from ?? null,
  }),
  unsaid: [],
};

/** Three members; in a body `protocol` is an unknown member. */
export const ruleWithoutProtocol: RuleForm = {
  name: 'without protocol',
  body: ofRules(Type.Object({ ...bodyMembers, ...bodyAction }, ONE_RULE)),
  answer: Type.Array(Type.Object({ ...answerMembers, ...answerAction })),
  encode: (rule) => ({ domain_suffix: rule.domainSuffix, ip_cidr: rule.ipCidr, action: rule.action }),
  decode: (wire) => ({ ...decodeWithProtocol(wire), protocol: null }),
  unsaid: ['protocol', 'sendFrom'],
};
