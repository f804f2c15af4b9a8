import { useState } from 'preact/hooks';
import type { OutboundRule, RuleAction } from '../../api/wire.js';
import { useWords, type Words } from '../../i18n/text.js';
import { isCidr, isDomainSuffix, linesOf } from '../../text/networks.js';
import { Button } from '../../ui/button.js';
import { Dialog, DialogFoot } from '../../ui/dialog.js';
import { LinesField, TextField } from '../../ui/field.js';
import type { Target } from '../file/document.js';

const ACTIONS: readonly RuleAction[] = ['proxy', 'direct', 'block'];

interface RuleDialogProps {
  readonly title: string;
  readonly rule: OutboundRule;
  /** Whether this server's rules have a protocol. */
  readonly hasProtocol: boolean;
  /** What a rule can send traffic to, where that has names of its own. */
  readonly targets: readonly Target[];
  readonly onClose: () => void;
  readonly onApply: (rule: OutboundRule) => void;
}

/** Edits one rule; every suffix and network is checked. */
export function RuleDialog({ title, rule, hasProtocol, targets, onClose, onApply }: RuleDialogProps) {
  const words = useWords();
  const choices = targets.length > 0 ? targets : ACTIONS.map((action) => ({ tag: undefined, action }));
  const [place, setPlace] = useState(() =>
    Math.max(
      0,
      choices.findIndex(({ tag, action }) => tag === rule.outbound && action === rule.action),
    ),
  );
  const chosen = choices[place];
  const [domains, setDomains] = useState(rule.domain_suffix.join('\n'));
  const [networks, setNetworks] = useState(rule.ip_cidr.join('\n'));
  const [protocol, setProtocol] = useState(rule.protocol ?? '');
  const domainProblem = firstBad(domains, isDomainSuffix, 'rules.badDomain', words);
  const networkProblem = firstBad(networks, isCidr, 'rules.badNetwork', words);
  const submit = (event: Event) => {
    event.preventDefault();
    if (domainProblem !== null || networkProblem !== null) return;
    const trimmed = protocol.trim();
    onApply({
      ...rule,
      action: chosen?.action ?? rule.action,
      ...(chosen?.tag === undefined ? {} : { outbound: chosen.tag }),
      domain_suffix: linesOf(domains),
      ip_cidr: linesOf(networks),
      ...(hasProtocol ? { protocol: trimmed === '' ? null : trimmed } : {}),
    });
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="dialog-body" onSubmit={submit}>
        <fieldset class="choices">
          <legend>{words('rules.action')}</legend>
          {choices.map((choice, index) => (
            <label key={choice.tag ?? choice.action} class={`choice choice-${choice.action}`}>
              <input type="radio" name="action" checked={index === place} onChange={() => setPlace(index)} />
              {words(`rules.${choice.action}`)}
              {choice.tag !== undefined && <span class="quiet">{choice.tag}</span>}
            </label>
          ))}
        </fieldset>
        <LinesField
          label={words('rules.domains')}
          problem={domainProblem}
          data-autofocus=""
          rows={4}
          value={domains}
          onType={setDomains}
        />
        <LinesField
          label={words('rules.networks')}
          problem={networkProblem}
          rows={4}
          value={networks}
          onType={setNetworks}
        />
        {hasProtocol && (
          <TextField
            label={words('rules.protocol')}
            hint={words('rules.protocolHint')}
            spellcheck={false}
            value={protocol}
            onType={setProtocol}
          />
        )}
        <DialogFoot onClose={onClose}>
          <Button type="submit" kind="primary">
            {words('rules.apply')}
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  );
}

function firstBad(
  text: string,
  fits: (line: string) => boolean,
  message: 'rules.badDomain' | 'rules.badNetwork',
  words: Words,
): string | null {
  const line = linesOf(text).find((item) => !fits(item));
  return line === undefined ? null : words(message, { line: line.slice(0, 80) });
}
