import { useWords } from '../i18n/text.js';
import { goTo, type Page, route } from '../state/route.js';
import { useStore } from '../store/store.js';
import { Segments } from './button.js';

/** The part of a page that its address names, else the first. */
export function useTab<T extends string>(names: readonly [T, ...T[]]): T {
  return useStore(route, ({ key }) => names.find((name) => name === key) ?? names[0]);
}

interface TabsProps<T extends string> {
  readonly page: Page;
  readonly names: readonly [T, ...T[]];
  /** Returns the words of each. */
  readonly children: (name: T) => string;
}

/** Leads to each part of a page. */
export function Tabs<T extends string>({ page, names, children }: TabsProps<T>) {
  const words = useWords();
  return (
    <Segments
      class="tabs"
      label={words('action.show')}
      names={names}
      chosen={useTab(names)}
      onChoose={(name) => goTo(page, name)}
    >
      {children}
    </Segments>
  );
}
