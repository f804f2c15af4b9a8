import { useState } from 'preact/hooks';
import type { OutboundRule } from '../../api/wire.js';
import { useWords } from '../../i18n/text.js';
import { Empty } from '../../ui/notice.js';
import type { Target } from '../file/document.js';
import { RuleDialog } from './rule-dialog.js';
import { RuleList } from './rule-list.js';

interface RulesFormProps {
  readonly rules: readonly OutboundRule[];
  readonly onChange: (rules: readonly OutboundRule[]) => void;
  /** Whether rules have a protocol here. */
  readonly hasProtocol: boolean;
  /** Names that a rule can send traffic to; none where a rule names an action. */
  readonly targets?: readonly Target[];
  /** Whether the dialog of a new rule is open; its button stands in the page's toolbar. */
  readonly adding: boolean;
  readonly onAdded: () => void;
}

/** Shows rules in order and edits each in a dialog, wherever they are kept. */
export function RulesForm({ rules, onChange, hasProtocol, targets = [], adding, onAdded }: RulesFormProps) {
  const words = useWords();
  const [editing, setEditing] = useState<number | null>(null);
  const edited = editing === null ? undefined : rules[editing];
  const close = () => {
    setEditing(null);
    onAdded();
  };
  const apply = (rule: OutboundRule) => {
    onChange(edited === undefined ? [...rules, rule] : rules.map((old) => (old === edited ? rule : old)));
    close();
  };
  return (
    <>
      {rules.length === 0 ? (
        <Empty icon="rules" title={words('rules.none')} text={words('rules.noneText')} />
      ) : (
        <>
          <p class="hint">
            {words('rules.intro')} {words('rules.reorder')}
          </p>
          <RuleList rules={rules} onChange={onChange} onEdit={setEditing} />
        </>
      )}
      {(adding || edited !== undefined) && (
        <RuleDialog
          title={editing === null ? words('rules.new') : words('rules.edit', { n: editing + 1 })}
          rule={edited ?? newRule(targets)}
          hasProtocol={hasProtocol}
          targets={targets}
          onClose={close}
          onApply={apply}
        />
      )}
    </>
  );
}

function newRule([target]: readonly Target[]): OutboundRule {
  return { domain_suffix: [], ip_cidr: [], action: target?.action ?? 'proxy', ...(target && { outbound: target.tag }) };
}
