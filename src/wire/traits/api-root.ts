import { withoutOuterSlashes } from '../text-ends.js';

/** The place of a revision's API (protocol: "Addressing"). */
export interface ApiRoot {
  readonly name: string;
  /** True if the web path applies, so that a panel can be served next to the API. */
  readonly usesWebpath: boolean;
  /** Returns `{base}` and the API root, both without a trailing slash. */
  paths(webpath: string): { readonly base: string; readonly api: string };
}

/** `/api`, whatever the web path. */
export const atServerRoot: ApiRoot = {
  name: '/api',
  usesWebpath: false,
  paths: () => ({ base: '', api: '/api' }),
};

/** `{base}/api`. */
export const underBase: ApiRoot = {
  name: '{base}/api',
  usesWebpath: true,
  paths(webpath) {
    const trimmed = withoutOuterSlashes(webpath);
    const base = `/${trimmed === '' ? 'panel' : trimmed}`;
    return { base, api: `${base}/api` };
  },
};
