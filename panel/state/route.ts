import { createStore, type Store } from '../store/store.js';

export const PAGES = ['overview', 'keys', 'configuration', 'rules', 'dns', 'audit', 'tokens'] as const;
export type Page = (typeof PAGES)[number];

/** The open page, null at an address that names none, on the keys page perhaps a key, on some others a part of them. It stands behind the `#`, so that any web path works. */
export interface Route {
  readonly page: Page | null;
  readonly key: string | null;
}

function read(): Route {
  const [page = '', key] = window.location.hash.replace(/^#\/?/, '').split('/');
  const known = page === '' ? 'overview' : (PAGES.find((name) => name === page) ?? null);
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
