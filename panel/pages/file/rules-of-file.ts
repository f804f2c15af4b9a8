import { type OutboundRule, type RuleAction, readRules } from '../../api/wire.js';
import { encodeExact, exactValue } from '../../text/exact-json.js';
import { type JsonNode, memberOf, parseTree, textOf, withValue } from '../../text/json-tree.js';
import { type Path, placesIn, type Target, targetsIn, valueAt } from './document.js';

export interface RulesOfFile {
  readonly place: Path;
  /** The tags that a rule can name; none where it names an action. */
  readonly targets: readonly Target[];
  readonly rules: readonly OutboundRule[];
  /** The spelling of each rule, which one that only moves keeps. */
  readonly nodes: ReadonlyMap<OutboundRule, JsonNode | undefined>;
}

/** The rules of a file, or null where outbound routing is not configured in it, or its rules are of another kind. */
export function rulesIn(tree: JsonNode): RulesOfFile | null {
  const { layout, rules: place } = placesIn(tree);
  const targets = layout === 'inbounds' ? targetsIn(tree) : [];
  const configured = layout === 'inbounds' ? targets.length > 0 : valueAt(tree, ['outbound'])?.kind === 'object';
  const list = valueAt(tree, place) ?? { kind: 'array', items: [] };
  if (!configured || list.kind !== 'array') return null;
  const actionOf = (node: JsonNode): RuleAction | undefined =>
    targets.find(({ tag }) => tag === textOf(memberOf(node, 'outbound')))?.action;
  const withAction = (node: JsonNode) => {
    const action = actionOf(node);
    return action === undefined ? node : withValue(node, ['action'], { kind: 'string', value: action });
  };
  try {
    const rules = readRules(list.items.map((item) => exactValue(withAction(item))));
    return { place, targets, rules, nodes: new Map(rules.map((rule, index) => [rule, list.items[index]])) };
  } catch {
    return null;
  }
}

/** The file with these rules; those that it has keep their spelling. */
export function withRules(
  tree: JsonNode,
  { place, targets, nodes }: RulesOfFile,
  rules: readonly OutboundRule[],
): JsonNode {
  return withValue(tree, place, {
    kind: 'array',
    items: rules.map((rule) => nodes.get(rule) ?? nodeOf(rule, targets)),
  });
}

/** A rule as its layout writes it: with an action, or with the tag of what it sends traffic to. */
function nodeOf({ action, ...rule }: OutboundRule, targets: readonly Target[]): JsonNode {
  return parseTree(encodeExact(targets.length === 0 ? { ...rule, action } : rule));
}
