import { useState } from 'preact/hooks';
import { type OutboundRule, type RuleAction, readRules } from '../../api/wire.js';
import { useWords } from '../../i18n/text.js';
import { encodeExact, exactValue } from '../../text/exact-json.js';
import { type JsonNode, memberOf, parseTree, textOf, withValue } from '../../text/json-tree.js';
import { Button } from '../../ui/button.js';
import { Notice } from '../../ui/notice.js';
import { RulesForm } from '../rules/rules-form.js';
import { type Path, placesIn, type Target, targetsIn, valueAt } from './document.js';
import { FromFile } from './file-page.js';
import { useFile } from './use-file.js';

/** The outbound rules of the file, for servers that have no operations for them. */
export function RulesInFile() {
  const words = useWords();
  const file = useFile();
  const [adding, setAdding] = useState(false);
  const add = (
    <Button icon="plus" onClick={() => setAdding(true)}>
      {words('rules.add')}
    </Button>
  );
  return (
    <FromFile file={file} title={words('page.rules')} valid tools={add}>
      {(tree) => (
        <RulesOfTree
          key={file.draft?.generation}
          tree={tree}
          onChange={file.change}
          adding={adding}
          onAdding={setAdding}
        />
      )}
    </FromFile>
  );
}

interface RulesOfTreeProps {
  readonly tree: JsonNode;
  readonly onChange: (tree: JsonNode) => void;
  readonly adding: boolean;
  readonly onAdding: (adding: boolean) => void;
}

function RulesOfTree({ tree, onChange, ...dialog }: RulesOfTreeProps) {
  const words = useWords();
  const [read] = useState(() => rulesIn(tree));
  const [rules, setRules] = useState(read?.rules ?? []);
  if (read === null) return <Notice tone="warn">{words('rules.notConfigured')}</Notice>;
  const change = (next: readonly OutboundRule[]) => {
    setRules(next);
    const items = next.map((rule) => read.nodes.get(rule) ?? nodeOf(rule, read.targets));
    onChange(withValue(tree, read.place, { kind: 'array', items }));
  };
  return <RulesForm rules={rules} onChange={change} hasProtocol targets={read.targets} {...dialog} />;
}

interface RulesOfFile {
  readonly place: Path;
  /** The tags that a rule can name; none where it names an action. */
  readonly targets: readonly Target[];
  readonly rules: readonly OutboundRule[];
  /** The spelling of each rule, which one that only moves keeps. */
  readonly nodes: ReadonlyMap<OutboundRule, JsonNode | undefined>;
}

/** The rules of a file, or null where outbound routing is not configured in it, or its rules are of another kind. */
function rulesIn(tree: JsonNode): RulesOfFile | null {
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

/** A rule as its layout writes it: with an action, or with the tag of what it sends traffic to. */
function nodeOf({ action, ...rule }: OutboundRule, targets: readonly Target[]): JsonNode {
  return parseTree(encodeExact(targets.length === 0 ? { ...rule, action } : rule));
}
