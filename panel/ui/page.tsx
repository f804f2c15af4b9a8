import type { ComponentChildren } from 'preact';
import { useWords } from '../i18n/text.js';
import { hrefOf } from '../state/route.js';
import { visible } from '../text/visible.js';
import { Button, type ButtonProps } from './button.js';
import { Empty } from './notice.js';

interface PageProps {
  readonly title: string;
  /** Stands beside the title, and whatever follows `.grow` at the other end of the line. */
  readonly tools?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A page with its title and its buttons. */
export function Page({ title, tools, children }: PageProps) {
  return (
    <div class="page">
      {tools === undefined ? (
        <h1>{title}</h1>
      ) : (
        <div class="line toolbar-line">
          <h1>{title}</h1>
          {tools}
        </div>
      )}
      {children}
    </div>
  );
}

interface EditToolsProps extends Pick<ButtonProps, 'onClick' | 'aria-disabled'> {
  readonly isDirty: boolean;
  /** Why the edit cannot be saved; false where it can. */
  readonly off: string | false;
  readonly onDiscard: () => void;
  /** Stands on the button that saves. */
  readonly save: string;
  /** Further buttons, before those. */
  readonly children?: ComponentChildren;
}

/** The tools of a page that edits something: whether all is saved, and the ways to drop and to save the edit. */
export function EditTools({ isDirty, off, onDiscard, save, children, ...button }: EditToolsProps) {
  const words = useWords();
  return (
    <>
      {isDirty && <span class="badge badge-warn">{words('config.unsaved')}</span>}
      <span class="grow" />
      {children}
      {isDirty && <Button onClick={onDiscard}>{words('action.discard')}</Button>}
      <Button kind="primary" off={isDirty ? off : words('off.unchanged')} {...button}>
        {save}
      </Button>
    </>
  );
}

/** The pages that some servers have nothing for. */
type Lacking = 'configuration' | 'rules' | 'dns' | 'audit' | 'tokens';

/** A page that this server has nothing for, and why. */
export function Absent({ page, tools }: { readonly page: Lacking; readonly tools?: ComponentChildren }) {
  const words = useWords();
  return (
    <Page title={words(`page.${page}`)} tools={tools}>
      <Empty
        icon={page}
        title={words('absent.short')}
        text={words(`absent.${page === 'configuration' ? 'config' : page}`)}
      />
    </Page>
  );
}

/** Says that the address names no page, and leads to one. */
export function UnknownPage() {
  const words = useWords();
  const address = visible(window.location.hash.slice(0, 120));
  return (
    <Page title={words('page.unknown')}>
      <p>{words('page.unknownText', { address })}</p>
      <p>
        <a href={hrefOf('overview')}>{words('page.overview')}</a>
      </p>
    </Page>
  );
}

interface TableProps {
  readonly heads: readonly string[];
  /** Its rows. */
  readonly children: ComponentChildren;
}

export function Table({ heads, children }: TableProps) {
  return (
    <table>
      <thead>
        <tr>
          {heads.map((head) => (
            <th key={head} scope="col">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}

interface ScrollsProps {
  readonly class: string;
  readonly label: string;
  readonly children: ComponentChildren;
}

/** A part of a page that scrolls by itself, by keyboard too. */
export function Scrolls({ class: name, label, children }: ScrollsProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
    <div class={name} tabIndex={0} role="region" aria-label={label}>
      {children}
    </div>
  );
}

interface FactProps {
  readonly label: string;
  /** The server does not tell it. */
  readonly missing?: boolean;
  readonly title?: string | undefined;
  readonly children: ComponentChildren;
}

/** A term of a description list with what is said of it. */
export function Fact({ label, missing = false, title, children }: FactProps) {
  return (
    <div title={title} class={missing ? 'missing' : ''}>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
