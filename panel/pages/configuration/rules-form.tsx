import { useState } from 'preact/hooks';
import { type OutboundRule, readRules } from '../../api/wire.js';
import { useWords } from '../../i18n/text.js';
import { encodeExact, parseExact } from '../../text/exact-json.js';
import { type JsonNode, parseTree, printTree, withValue } from '../../text/json-tree.js';
import { Icon } from '../../ui/icon.js';
import { NEW_RULE, RuleDialog } from '../rules/rule-dialog.js';
import { RuleList } from '../rules/rule-list.js';
import { valueAt } from './document.js';

/** Where the rules of a file stand that this form edits. */
const RULES = ['outbound', 'rules'];

interface RulesFormProps {
  readonly tree: JsonNode;
  readonly onChange: (tree: JsonNode) => void;
}

/** The outbound rules in the file, for servers that have no operations for them. */
export function RulesForm({ tree, onChange }: RulesFormProps) {
  const words = useWords();
  const [read] = useState(() => rulesIn(tree));
  const [rules, setRules] = useState(read?.rules ?? []);
  const [editing, setEditing] = useState<number | 'new' | null>(null);
  if (read === null) return null;
  const change = (next: readonly OutboundRule[]) => {
    setRules(next);
    const items = next.map((rule) => read.nodes.get(rule) ?? parseTree(encodeExact(rule)));
    onChange(withValue(tree, RULES, { kind: 'array', items }));
  };
  const apply = (rule: OutboundRule) => {
    change(editing === 'new' ? [...rules, rule] : rules.map((old, index) => (index === editing ? rule : old)));
    setEditing(null);
  };
  return (
    <section class="card">
      <div class="toolbar-line">
        <h2>{words('page.rules')}</h2>
        <span class="grow" />
        <button type="button" class="button button-small" onClick={() => setEditing('new')}>
          <Icon name="plus" /> {words('rules.add')}
        </button>
      </div>
      <p class="hint">
        {words('rules.intro')} {words('rules.reorder')}
      </p>
      {rules.length === 0 && <p class="hint">{words('rules.noneText')}</p>}
      <RuleList rules={rules} onChange={change} onEdit={setEditing} />
      {editing !== null && (
        <RuleDialog
          title={editing === 'new' ? words('rules.new') : words('rules.edit', { n: editing + 1 })}
          rule={editing === 'new' ? NEW_RULE : (rules[editing] ?? NEW_RULE)}
          hasProtocol
          onClose={() => setEditing(null)}
          onApply={apply}
        />
      )}
    </section>
  );
}

interface RulesInFile {
  readonly rules: readonly OutboundRule[];
  /** The spelling of each rule, which one that only moves keeps. */
  readonly nodes: ReadonlyMap<OutboundRule, JsonNode | undefined>;
}

/** The rules of a file, or null where it has no `outbound` object, or rules of another kind: the text is for those. */
function rulesIn(tree: JsonNode): RulesInFile | null {
  if (valueAt(tree, ['outbound'])?.kind !== 'object') return null;
  const list = valueAt(tree, RULES) ?? { kind: 'array', items: [] };
  if (list.kind !== 'array') return null;
  try {
    const rules = readRules(parseExact(printTree(list)));
    return { rules, nodes: new Map(rules.map((rule, index) => [rule, list.items[index]])) };
  } catch {
    return null;
  }
}
