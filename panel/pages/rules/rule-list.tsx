import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { OutboundRule } from '../../api/wire.js';
import { useWords } from '../../i18n/text.js';
import { IconButton } from '../../ui/button.js';
import { Icon, type IconName } from '../../ui/icon.js';

interface RuleListProps {
  readonly rules: readonly OutboundRule[];
  readonly onChange: (rules: readonly OutboundRule[]) => void;
  readonly onEdit: (index: number) => void;
}

/** The rules in order. A rule moves by dragging, by its buttons, or by Alt with the arrow keys. */
export function RuleList({ rules, onChange, onEdit }: RuleListProps) {
  const words = useWords();
  const list = useRef<HTMLOListElement>(null);
  const [dragged, setDragged] = useState<number | null>(null);
  const [spoken, setSpoken] = useState('');
  /** Where the focus goes with a rule that was moved by keyboard, before the next key is read. */
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
    <IconButton icon={icon} data-part={part} label={label} tip onClick={onClick} />
  );
  return (
    <>
      <ol class="rules" ref={list}>
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
            <span class="rule-grip">
              <Icon name="grip" />
            </span>
            <span class="rule-number">{index + 1}</span>
            <span class={`badge badge-${rule.action}`}>
              {words(`rules.${rule.action}`)}
              {rule.outbound !== undefined && ` · ${rule.outbound}`}
            </span>
            <RuleText rule={rule} />
            <span class="rule-buttons">
              {button('up', 'up', words('rules.up', { n: index + 1 }), () => move(index, index - 1))}
              {button('down', 'down', words('rules.down', { n: index + 1 }), () => move(index, index + 1))}
              {button('edit', 'edit', words('rules.editOne', { n: index + 1 }), () => onEdit(index))}
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
    <span class="rule-text">
      {parts.length === 0 && <em>{words('rules.everything')}</em>}
      {parts.slice(0, SHOWN).map((part) => (
        <code key={part}>{part.slice(0, 80)}</code>
      ))}
      {more > 0 && <span class="quiet">+{more}</span>}
      {(rule.protocol ?? '') !== '' && <span class="badge">{rule.protocol}</span>}
    </span>
  );
}
