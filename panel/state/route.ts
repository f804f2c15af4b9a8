import { createStore, type Store } from '../store/store.js';

export const PAGES = ['overview', 'keys', 'configuration', 'rules', 'dns', 'audit'] as const;
export type Page = (typeof PAGES)[number];

/** The open page, and on the keys page perhaps a key. It stands behind the `#`, so that any web path works. */
export interface Route {
  readonly page: Page;
  readonly key: string | null;
}

function read(): Route {
  const [page = '', key] = window.location.hash.replace(/^#\/?/, '').split('/');
  const known = PAGES.find((name) => name === page) ?? 'overview';
  return { page: known, key: key === undefined || key === '' ? null : decode(key) };
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

export const route: Store<Route> = createStore(read());
window.addEventListener('hashchange', () => route.set(read()));

export function hrefOf(page: Page, key: string | null = null): string {
  return `#/${page}${key === null ? '' : `/${encodeURIComponent(key)}`}`;
}

export function goTo(page: Page, key: string | null = null): void {
  window.location.hash = hrefOf(page, key);
}
