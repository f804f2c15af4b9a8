import type { ButtonHTMLAttributes, ComponentChildren } from 'preact';
import { Icon, type IconName } from './icon.js';

export interface ButtonProps extends Omit<ButtonHTMLAttributes, 'icon'> {
  readonly kind?: 'primary' | 'danger' | 'quiet-danger' | 'small' | 'small button-primary';
  readonly icon?: IconName;
  /** Up to 700 pixels of width the words stand small under the icon. */
  readonly shrinks?: boolean;
  /** Why it cannot be pressed now; false where it can. */
  readonly off?: string | false;
  readonly children: ComponentChildren;
}

/** A button with words. */
export function Button({ kind, icon, shrinks = false, off = false, children, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      class={`button ${kind === undefined ? '' : `button-${kind}`} ${shrinks ? 'button-shrinks' : ''}`.trim()}
      {...rest}
      {...(off !== false && { disabled: true, title: off })}
    >
      {icon === undefined ? children : <Icon name={icon} />}
      {icon !== undefined && <span>{children}</span>}
    </button>
  );
}

interface IconButtonProps extends Omit<ButtonHTMLAttributes, 'icon' | 'label'> {
  readonly icon: IconName;
  readonly label: string;
}

/** A button that is an icon alone, with its label as its tooltip. */
export function IconButton({ icon, label, ...rest }: IconButtonProps) {
  return (
    <button type="button" class="icon-button" aria-label={label} title={label} {...rest}>
      <Icon name={icon} />
    </button>
  );
}

interface SegmentsProps<T extends string> {
  readonly label: string;
  readonly names: readonly T[];
  /** Null where none is yet. */
  readonly chosen: T | null;
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
