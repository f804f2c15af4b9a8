import { type At, differing, type Found, NO_PATH, type ReadDifference } from './looking.js';

interface Page {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

/** Checks the panel: its redirect, its index page with everything that loads, and missing files. */
export async function lookAtPanel(at: At): Promise<Found> {
  const { panel } = at.revision.capabilities;
  if (panel === undefined) return { unseen: 'this revision has no panel' };
  const get = async (path: string): Promise<Page> =>
    (await at.look.read({ method: 'GET', path: at.base + path, authorization: null })).answer;
  const index = await get('/');
  const missing = [NO_PATH, `${NO_PATH}.css`].map(async (path) => ({ path, page: await get(path) }));
  const [page, file] = await Promise.all(missing);
  if (index.status === 404 && page?.page.status === 404) return { unseen: 'no panel is served there' };
  const found = [...pageDifferences('GET {base}/', index), ...redirectDifferences(await get(''), at)];
  for (const { path, page: answer } of [page, file].flatMap((each) => each ?? [])) {
    const request = `GET {base}${path}`;
    if (!panel.missingFile.answersIndex(path)) found.push(...differing(request, 'status', 404n, BigInt(answer.status)));
    else if (index.status === 200) found.push(...indexDifferences(request, answer, index));
  }
  return index.status === 200 ? [...found, ...(await lookAtScripts(index.body.toString('utf8'), at))] : found;
}

function pageDifferences(request: string, { status, headers, body }: Page): ReadDifference[] {
  if (status !== 200) return differing(request, 'status', 200n, BigInt(status));
  return [
    ...differing(request, 'header content-type', 'text/html', headers.get('content-type')?.split(';')[0]),
    ...(body.length > 0 ? [] : [{ request, where: 'body', expected: 'a page', actual: '' }]),
  ];
}

function indexDifferences(request: string, page: Page, index: Page): ReadDifference[] {
  const found = pageDifferences(request, page);
  if (found.length > 0 || page.body.equals(index.body)) return found;
  return [{ request, where: 'body', expected: 'the index page', actual: 'another page' }];
}

function redirectDifferences({ status, headers }: Page, { base }: At): ReadDifference[] {
  const location = headers.get('location') ?? '';
  const { pathname } = URL.canParse(location, `http://server${base}`)
    ? new URL(location, `http://server${base}`)
    : { pathname: location };
  return [
    ...differing('GET {base}', 'status', 308n, BigInt(status)),
    ...differing('GET {base}', 'header location', `${base}/`, status === 308 ? pathname : `${base}/`),
  ];
}

/** Checks that an unserved path gets the panel's page, if there is a panel, or an error. */
export async function lookAtNoPath({ look, api, revision }: At): Promise<Found> {
  const authorization = (await look.passing(api)) ?? null;
  const { answer, envelope } = await look.read({ method: 'GET', path: api + NO_PATH, authorization });
  const request = `GET ${NO_PATH}`;
  if (envelope?.ok === true) return [{ request, where: 'body /ok', expected: 'no success', actual: true }];
  if (answer.status >= 400 || (answer.status === 200 && isPage(answer) && revision.capabilities.panel !== undefined))
    return [];
  return [{ request, where: 'status', expected: 'an error, or the page of the panel', actual: BigInt(answer.status) }];
}

function isPage({ headers, body }: Page): boolean {
  return headers.get('content-type')?.split(';')[0] === 'text/html' && body.length > 0;
}

/** The most files of a page that are checked. */
const MOST_FILES = 10;

/** Scripts and style sheets of a page by the tag that names them; browsers refuse both under another content type. */
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

/** Lists the scripts and style sheets below the index page's own path that are not served as such. */
async function lookAtScripts(page: string, { look, base }: At): Promise<readonly ReadDifference[]> {
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

/**
 * Returns the path of an address in the index page; null if it belongs to another server, or to a path other than the
 * panel's.
 */
function pathBeneath(base: string, address: string): string | null {
  const page = `http://server.invalid${base}/`;
  if (!URL.canParse(address, page)) return null;
  const { origin, pathname } = new URL(address, page);
  return origin === 'http://server.invalid' && pathname.startsWith(`${base}/`) ? pathname : null;
}
