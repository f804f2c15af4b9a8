import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from './icon.js';

interface NoticeProps {
  readonly tone: 'plain' | 'warn' | 'bad' | 'good';
  readonly children: ComponentChildren;
  /** Spoken at once when it appears. */
  readonly urgent?: boolean;
}

/** A sentence that belongs to the page, with buttons perhaps. */
export function Notice({ tone, children, urgent = false }: NoticeProps) {
  return (
    <div class={`notice notice-${tone}`} role={urgent ? 'alert' : 'status'}>
      {tone !== 'plain' && tone !== 'good' && <Icon name="warning" />}
      <div>{children}</div>
    </div>
  );
}

interface EmptyProps {
  readonly icon: IconName;
  readonly title: string;
  readonly text: string;
  readonly children?: ComponentChildren;
}

/** What stands where a list would, when there is nothing in it. */
export function Empty({ icon, title, text, children }: EmptyProps) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      <p>{text}</p>
      {children}
    </div>
  );
}
