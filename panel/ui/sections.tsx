import type { ComponentChildren } from 'preact';

/** A part of a form. */
export interface Section {
  readonly title: string;
  /** Said below the title. */
  readonly hint?: string;
  readonly content: ComponentChildren;
}

/** A form in titled sections. */
export function Sections({ of }: { readonly of: readonly Section[] }) {
  return (
    <div class="stack">
      {of.map(({ title, hint, content }) => (
        <section key={title} class="card">
          <header>
            <h2>{title}</h2>
            {hint !== undefined && <p class="hint">{hint}</p>}
          </header>
          {content}
        </section>
      ))}
    </div>
  );
}
