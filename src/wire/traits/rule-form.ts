import type { OutboundRule } from '../../core/model.js';
import type { Encodable } from '../json/encode.js';
import type { WireOutboundRule } from '../schemas.js';

/** A revision's form of an outbound rule (design: "An outbound rule"). */
export interface RuleForm {
  readonly name: string;
  encode(rule: OutboundRule): Encodable;
  decode(wire: WireOutboundRule): OutboundRule;
}

/** Absent lists are empty, an absent protocol is null. */
function decode(wire: WireOutboundRule): OutboundRule {
  return {
    domainSuffix: wire.domain_suffix ?? [],
    ipCidr: wire.ip_cidr ?? [],
    protocol: wire.protocol ?? null,
    action: wire.action,
  };
}

/** Four members, as in the current revision. */
export const ruleWithProtocol: RuleForm = {
  name: 'with protocol',
  encode: (rule) => ({
    domain_suffix: rule.domainSuffix,
    ip_cidr: rule.ipCidr,
    protocol: rule.protocol,
    action: rule.action,
  }),
  decode,
};

/** Three members; a `protocol` in a body is an unknown member there. */
export const ruleWithoutProtocol: RuleForm = {
  name: 'without protocol',
  encode: (rule) => ({ domain_suffix: rule.domainSuffix, ip_cidr: rule.ipCidr, action: rule.action }),
  decode: (wire) => ({ ...decode(wire), protocol: null }),
};
