import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useWords } from '../i18n/text.js';

/** A part of a form. */
export interface Section {
  readonly title: string;
  /** Said below the title. */
  readonly hint?: string;
  readonly content: ComponentChildren;
}

/** A form in titled sections. Where there is room, the list of them stands beside it and leads to each. */
export function Sections({ of }: { readonly of: readonly Section[] }) {
  const words = useWords();
  const holder = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState(0);
  useEffect(() => {
    const parts = [...(holder.current?.children ?? [])];
    // The section in the upper part of the window is the current one.
    const observer = new IntersectionObserver(
      (entries) => {
        const entered = entries.find(({ isIntersecting }) => isIntersecting);
        if (entered !== undefined) setCurrent(parts.indexOf(entered.target));
      },
      { rootMargin: '-15% 0px -75%' },
    );
    for (const part of parts) observer.observe(part);
    return () => observer.disconnect();
  }, [of.length]);
  const goTo = (index: number) => {
    const part = holder.current?.children[index];
    part?.scrollIntoView({ block: 'start', behavior: 'smooth' });
    part?.querySelector<HTMLElement>('input,select,textarea,button')?.focus({ preventScroll: true });
    setCurrent(index);
  };
  return (
    <div class="form">
      <div class="form-index" role="group" aria-label={words('form.sections')}>
        {of.map(({ title }, index) => (
          <button
            key={title}
            type="button"
            aria-current={index === current ? 'true' : undefined}
            onClick={() => goTo(index)}
          >
            {title}
          </button>
        ))}
      </div>
      <div class="stack form-sections" ref={holder}>
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
    </div>
  );
}
