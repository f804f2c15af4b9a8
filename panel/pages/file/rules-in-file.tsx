import { useState } from 'preact/hooks';
import type { OutboundRule } from '../../api/wire.js';
import { useWords } from '../../i18n/text.js';
import type { JsonNode } from '../../text/json-tree.js';
import { Button } from '../../ui/button.js';
import { Notice } from '../../ui/notice.js';
import { RulesForm } from '../rules/rules-form.js';
import { useFile } from './file-editing.js';
import { FromFile } from './file-page.js';
import { rulesIn, withRules } from './rules-of-file.js';

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
    onChange(withRules(tree, read, next));
  };
  return <RulesForm rules={rules} onChange={change} hasProtocol targets={read.targets} {...dialog} />;
}
