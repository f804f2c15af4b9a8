import type { ComponentChildren } from 'preact';
import { sentence, useWords } from '../i18n/text.js';
import { Icon, type IconName } from './icon.js';

interface NoticeProps {
  readonly tone: 'plain' | 'warn' | 'bad';
  readonly children: ComponentChildren;
  /** Spoken at once when it appears. */
  readonly urgent?: boolean;
}

/** A sentence that belongs to the page, with buttons perhaps. */
export function Notice({ tone, children, urgent = false }: NoticeProps) {
  return (
    <div class={`notice notice-${tone}`} role={urgent ? 'alert' : 'status'}>
      {tone !== 'plain' && <Icon name="warning" />}
      <div class="line grow">{children}</div>
    </div>
  );
}

/** The sentence for a failure; nothing where there is none. */
export function Failure({ of, urgent = false }: { readonly of: unknown; readonly urgent?: boolean }) {
  const words = useWords();
  if (of === null) return null;
  return (
    <Notice tone="bad" urgent={urgent}>
      {sentence(of, words)}
    </Notice>
  );
}

/** Stands where something will be as soon as the server has answered. */
export function Loading({ text }: { readonly text?: string }) {
  const words = useWords();
  return <p class="hint loading">{text ?? words('login.checking')}</p>;
}

interface ListedProps<T> {
  /** Null until they have come. */
  readonly items: readonly T[] | null;
  /** Why they could not be had, or something with them failed; null for nothing. */
  readonly error: unknown;
  readonly urgent?: boolean;
  /** Stands in the place of none. */
  readonly empty: ComponentChildren;
  /** Draws some. */
  readonly children: (items: readonly T[]) => ComponentChildren;
}

/** A list in each of its forms: awaited, failed, empty and full. */
export function Listed<T>({ items, error, urgent = false, empty, children }: ListedProps<T>) {
  return (
    <>
      <Failure of={error} urgent={urgent} />
      {items === null ? error === null && <Loading /> : items.length === 0 ? empty : children(items)}
    </>
  );
}

/** How far something with many parts is. */
export function Progress({ done, total }: { readonly done: number; readonly total: number }) {
  const words = useWords();
  const text = words('batch.progress', { done, n: total });
  return (
    <span class="line">
      <progress max={total} value={done} aria-label={text} />
      <span>{text}</span>
    </span>
  );
}

interface EmptyProps {
  readonly icon: IconName;
  readonly title: string;
  readonly text: string;
  readonly children?: ComponentChildren;
}

/** Stands where a list would, when there is nothing in it. */
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
