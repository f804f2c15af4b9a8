import { type At, differing, type ReadDifference } from './looking.js';

/** How many of the files that a page loads are looked at. */
const MOST_FILES = 10;

/** What a page loads, by the mark that names it: browsers take neither for what it is where its type says otherwise. */
const LOADED: readonly { readonly tag: RegExp; readonly isType: RegExp; readonly words: string }[] = [
  {
    tag: /<script\b[^>]*?\ssrc\s*=\s*["']?([^"'\s>]+)/gi,
    isType: /^(?:text|application)\/(?:x-)?javascript$/,
    words: 'text/javascript',
  },
  {
    tag: /<link\b(?=[^>]*\srel\s*=\s*["']?stylesheet\b)[^>]*?\shref\s*=\s*["']?([^"'\s>]+)/gi,
    isType: /^text\/css$/,
    words: 'text/css',
  },
];

/** Where a script or style sheet that the index page loads from beneath its own path is not served as one. */
export async function lookAtScripts(page: string, { look, base }: At): Promise<readonly ReadDifference[]> {
  const files = LOADED.flatMap(({ tag, ...kind }) =>
    [...page.matchAll(tag)].flatMap(([, address = '']) => {
      const path = pathBeneath(base, address);
      return path === null ? [] : [{ path, ...kind }];
    }),
  );
  const found: ReadDifference[] = [];
  for (const { path, isType, words } of files.slice(0, MOST_FILES)) {
    const { answer } = await look.read({ method: 'GET', path, authorization: null });
    const request = `GET {base}${path.slice(base.length)}`;
    const type = answer.headers.get('content-type')?.split(';')[0]?.trim();
    if (answer.status !== 200) found.push(...differing(request, 'status', 200n, BigInt(answer.status)));
    else if (type === undefined || !isType.test(type))
      found.push({ request, where: 'header content-type', expected: words, actual: type });
  }
  return found;
}

/** The path of an address in the index page; null where another server has it, or another path than the panel's. */
function pathBeneath(base: string, address: string): string | null {
  const page = `http://server.invalid${base}/`;
  if (!URL.canParse(address, page)) return null;
  const { origin, pathname } = new URL(address, page);
  return origin === 'http://server.invalid' && pathname.startsWith(`${base}/`) ? pathname : null;
}
