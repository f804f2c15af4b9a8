import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { OutboundRule, RuleAction } from '../../api/wire.js';
import { useWords } from '../../i18n/text.js';
import { useFormDraft } from '../../state/form-drafts.js';
import { encodeExact } from '../../text/exact-json.js';
import { isCidr, isDomainSuffix, linesOf } from '../../text/networks.js';
import { Button, IconButton } from '../../ui/button.js';
import { DialogFoot, FormDialog } from '../../ui/dialog.js';
import { Field, LinesField, Select, TextField } from '../../ui/field.js';
import { Icon, type IconName } from '../../ui/icon.js';
import { Empty } from '../../ui/notice.js';
import type { Target } from '../file/document.js';

interface RulesFormProps {
  readonly rules: readonly OutboundRule[];
  readonly onChange: (rules: readonly OutboundRule[]) => void;
  /** Rules have a protocol here. */
  readonly hasProtocol: boolean;
  /** Names that a rule can send traffic to; none where a rule names an action. */
  readonly targets?: readonly Target[];
  /** The dialog of a new rule is open; its button stands in the page's toolbar. */
  readonly adding: boolean;
  readonly onAdding: (adding: boolean) => void;
}

/** Shows rules in order and edits each in a dialog, wherever they are kept. */
export function RulesForm({ rules, onChange, hasProtocol, targets = [], adding, onAdding }: RulesFormProps) {
  const words = useWords();
  const [editing, setEditing] = useState<OutboundRule | null>(null);
  const place = editing === null ? -1 : placeOf(editing, rules);
  const close = () => {
    setEditing(null);
    onAdding(false);
  };
  const apply = (rule: OutboundRule) => {
    onChange(place < 0 ? [...rules, rule] : rules.map((old, index) => (index === place ? rule : old)));
    close();
  };
  return (
    <>
      {rules.length === 0 ? (
        <Empty icon="rules" title={words('rules.none')} text={words('rules.noneText')}>
          <Button kind="primary" icon="plus" onClick={() => onAdding(true)}>
            {words('rules.first')}
          </Button>
        </Empty>
      ) : (
        <>
          <p class="hint">
            {words('rules.intro')} <span class="wide-only">{words('rules.reorder')}</span>
          </p>
          <RuleList rules={rules} onChange={onChange} onEdit={setEditing} />
        </>
      )}
      {(adding || editing !== null) && (
        <RuleDialog
          title={place < 0 ? words('rules.new') : words('rules.editOne', { n: place + 1 })}
          rule={editing ?? newRule(targets)}
          hasProtocol={hasProtocol}
          targets={targets}
          onClose={close}
          onApply={apply}
        />
      )}
    </>
  );
}

/** The place of a rule, also among rules that were read again meanwhile; -1 where it is gone. */
function placeOf(rule: OutboundRule, rules: readonly OutboundRule[]): number {
  const same = rules.indexOf(rule);
  return same < 0 ? rules.findIndex((other) => encodeExact(other) === encodeExact(rule)) : same;
}

function newRule([target]: readonly Target[]): OutboundRule {
  return { domain_suffix: [], ip_cidr: [], action: target?.action ?? 'proxy', ...(target && { outbound: target.tag }) };
}

interface RuleListProps {
  readonly rules: readonly OutboundRule[];
  readonly onChange: (rules: readonly OutboundRule[]) => void;
  readonly onEdit: (rule: OutboundRule) => void;
}

/** The rules in order. A rule moves by dragging, by its buttons, or by Alt with the arrow keys. */
function RuleList({ rules, onChange, onEdit }: RuleListProps) {
  const words = useWords();
  const list = useRef<HTMLOListElement>(null);
  const [dragged, setDragged] = useState<number | null>(null);
  const [spoken, setSpoken] = useState('');
  /** The next place of the focus, which goes with a rule that was moved by keyboard before the next key is read. */
  const follow = useRef<{ readonly index: number; readonly part: string } | null>(null);
  useLayoutEffect(() => {
    const { index, part } = follow.current ?? { index: -1, part: '' };
    follow.current = null;
    list.current?.children[index]?.querySelector<HTMLElement>(`[data-part="${part}"]`)?.focus();
  }, [rules]);

  const move = (from: number, to: number) => {
    const rule = rules[from];
    if (rule === undefined || to < 0 || to >= rules.length || to === from) return;
    const rest = rules.filter((_, index) => index !== from);
    onChange([...rest.slice(0, to), rule, ...rest.slice(to)]);
    setSpoken(words('rules.moved', { n: to + 1 }));
  };
  const onKeyDown = (event: KeyboardEvent, index: number) => {
    const by = event.key === 'ArrowUp' ? -1 : event.key === 'ArrowDown' ? 1 : 0;
    if (!event.altKey || by === 0) return;
    event.preventDefault();
    const part = event.target instanceof HTMLElement ? event.target.dataset.part : undefined;
    if (index + by < 0 || index + by >= rules.length) return;
    follow.current = { index: index + by, part: part ?? 'edit' };
    move(index, index + by);
  };
  const remove = (index: number) => onChange(rules.filter((_, other) => other !== index));
  const button = (icon: IconName, part: string, label: string, onClick: () => void) => (
    <IconButton icon={icon} data-part={part} label={label} onClick={onClick} />
  );
  return (
    <>
      <ol class="card card-flush" ref={list}>
        {rules.map((rule, index) => (
          <li
            key={index}
            class={dragged === index ? 'rule rule-dragged' : 'rule'}
            draggable
            onKeyDown={(event) => onKeyDown(event, index)}
            onDragStart={(event) => {
              setDragged(index);
              event.dataTransfer?.setData('text/plain', String(index));
            }}
            onDragEnd={() => setDragged(null)}
            onDragOver={(event) => {
              event.preventDefault();
              if (dragged === null || dragged === index) return;
              move(dragged, index);
              setDragged(index);
            }}
            onDrop={(event) => event.preventDefault()}
          >
            <span class="rule-grip quiet">
              <Icon name="grip" />
            </span>
            <span class="quiet">{index + 1}</span>
            <span class={`badge badge-${rule.action}`}>
              {words(`rules.action.${rule.action}`)}
              {rule.outbound !== undefined && ` · ${rule.outbound}`}
            </span>
            <RuleText rule={rule} />
            <span class="line nowrap rule-buttons">
              {button('up', 'up', words('rules.up', { n: index + 1 }), () => move(index, index - 1))}
              {button('down', 'down', words('rules.down', { n: index + 1 }), () => move(index, index + 1))}
              {button('edit', 'edit', words('rules.editOne', { n: index + 1 }), () => onEdit(rule))}
              {button('trash', 'remove', words('rules.removeOne', { n: index + 1 }), () => remove(index))}
            </span>
          </li>
        ))}
      </ol>
      <p class="visually-hidden" role="status">
        {spoken}
      </p>
    </>
  );
}

/** Items of one kind that a line shows; the rest is a number. */
const SHOWN = 6;

function RuleText({ rule }: { readonly rule: OutboundRule }) {
  const words = useWords();
  const parts = [...rule.domain_suffix, ...rule.ip_cidr];
  const more = parts.length - SHOWN;
  return (
    <span class="line rule-text">
      {parts.length === 0 && <em>{words('rules.everything')}</em>}
      {parts.slice(0, SHOWN).map((part) => (
        <code key={part}>{part.slice(0, 80)}</code>
      ))}
      {more > 0 && <span class="quiet">+{more}</span>}
      {(rule.protocol ?? '') !== '' && <span class="badge">{rule.protocol}</span>}
    </span>
  );
}

const ACTIONS: readonly RuleAction[] = ['proxy', 'direct', 'block'];

interface RuleDialogProps {
  readonly title: string;
  readonly rule: OutboundRule;
  /** This server's rules have a protocol. */
  readonly hasProtocol: boolean;
  /** The outbounds that a rule can name; none where it names an action. */
  readonly targets: readonly Target[];
  readonly onClose: () => void;
  readonly onApply: (rule: OutboundRule) => void;
}

/** Edits one rule; every suffix and network is checked. */
function RuleDialog({ title, rule, hasProtocol, targets, onClose, onApply }: RuleDialogProps) {
  const words = useWords();
  const choices = targets.length > 0 ? targets : ACTIONS.map((action) => ({ tag: undefined, action }));
  const draft = useFormDraft(`rule/${encodeExact(rule)}`, {
    place: choices.findIndex(({ tag, action }) => tag === rule.outbound && action === rule.action),
    domains: rule.domain_suffix.join('\n'),
    networks: rule.ip_cidr.join('\n'),
    protocol: rule.protocol ?? '',
  });
  const { domains, networks, protocol } = draft.form;
  const place = Math.max(0, draft.form.place);
  const chosen = choices[place];
  const labels = choices.map(({ tag, action }) =>
    [words(`rules.action.${action}`), tag].filter((part) => part !== undefined && part !== action).join(' · '),
  );
  const badDomain = firstBad(domains, isDomainSuffix);
  const badNetwork = firstBad(networks, isCidr);
  const submit = () => {
    if (badDomain !== undefined || badNetwork !== undefined) return;
    const trimmed = protocol.trim();
    draft.discard();
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
    <FormDialog title={title} onSubmit={submit} onClose={onClose}>
      <Field label={words('rules.action')}>
        {(control) => (
          <Select
            {...control}
            names={Object.keys(labels)}
            value={`${place}`}
            onChoose={(index) => draft.change({ place: Number(index) })}
          >
            {(index) => labels[Number(index)] ?? ''}
          </Select>
        )}
      </Field>
      <LinesField
        label={words('rules.domains')}
        problem={badDomain === undefined ? null : words('rules.badDomain', { line: badDomain })}
        data-autofocus=""
        rows={4}
        value={domains}
        onType={(typed) => draft.change({ domains: typed })}
      />
      <LinesField
        label={words('rules.networks')}
        problem={badNetwork === undefined ? null : words('rules.badNetwork', { line: badNetwork })}
        rows={4}
        value={networks}
        onType={(typed) => draft.change({ networks: typed })}
      />
      {hasProtocol && (
        <TextField
          label={words('rules.protocol')}
          hint={words('rules.protocolHint')}
          spellcheck={false}
          value={protocol}
          onType={(typed) => draft.change({ protocol: typed })}
        />
      )}
      <DialogFoot
        onClose={() => {
          draft.discard();
          onClose();
        }}
      >
        {words('rules.apply')}
      </DialogFoot>
    </FormDialog>
  );
}

function firstBad(text: string, fits: (line: string) => boolean): string | undefined {
  return linesOf(text)
    .find((line) => !fits(line))
    ?.slice(0, 80);
}
