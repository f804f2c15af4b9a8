import type { ButtonHTMLAttributes, ComponentChildren } from 'preact';
import { Icon, type IconName } from './icon.js';

interface ButtonProps extends Omit<ButtonHTMLAttributes, 'icon'> {
  readonly kind?: 'primary' | 'danger' | 'quiet-danger' | 'small' | 'small button-primary' | 'primary button-wide';
  readonly icon?: IconName;
  /** The words make room for the icon alone on a phone. */
  readonly shrinks?: boolean;
  readonly children: ComponentChildren;
}

/** A button with words. */
export function Button({ kind, icon, shrinks = false, children, ...rest }: ButtonProps) {
  return (
    <button type="button" class={kind === undefined ? 'button' : `button button-${kind}`} {...rest}>
      {icon === undefined ? children : <Icon name={icon} />}
      {icon !== undefined && <span class={shrinks ? 'wide-only' : ''}>{children}</span>}
    </button>
  );
}

interface IconButtonProps extends Omit<ButtonHTMLAttributes, 'icon' | 'label'> {
  readonly icon: IconName;
  readonly label: string;
  /** Shows the label as its tooltip, too. */
  readonly tip?: boolean;
}

/** A button that is an icon alone. */
export function IconButton({ icon, label, tip = false, ...rest }: IconButtonProps) {
  return (
    <button type="button" class="icon-button" aria-label={label} {...(tip ? { title: label } : {})} {...rest}>
      <Icon name={icon} />
    </button>
  );
}

interface SegmentsProps<T extends string> {
  readonly label: string;
  readonly names: readonly T[];
  readonly chosen: T;
  readonly onChoose: (name: T) => void;
  /** The one that cannot be chosen here. */
  readonly disabled?: T | false;
  readonly class?: string;
  /** Draws the words of each. */
  readonly children: (name: T) => ComponentChildren;
}

/** A row of buttons of which one is pressed. */
export function Segments<T extends string>({
  label,
  names,
  chosen,
  onChoose,
  disabled,
  children,
  class: style = 'segments',
}: SegmentsProps<T>) {
  return (
    <div class={style} role="group" aria-label={label}>
      {names.map((name) => (
        <button
          key={name}
          type="button"
          aria-pressed={chosen === name}
          disabled={disabled === name}
          onClick={() => onChoose(name)}
        >
          {children(name)}
        </button>
      ))}
    </div>
  );
}
