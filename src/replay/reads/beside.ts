import { corsDifferences } from '../cors.js';
import { type At, differing, type Found, NO_PATH, ORIGIN, readWith } from './looking.js';

/** The panel: its redirect, its index page, and files that there are not. */
export async function lookAtPanel(at: At): Promise<Found> {
  const { panel } = at.revision.capabilities;
  if (panel === undefined) return { unseen: 'this revision has no panel' };
  const get = async (path: string) =>
    (await at.look.read({ method: 'GET', path: at.base + path, authorization: null })).answer;
  const index = await get('/');
  if (index.status === 404) return { unseen: 'no panel is served there' };
  const redirect = await get('');
  const page = (request: string, status: number, type: string | undefined) => [
    ...differing(request, 'status', 200n, BigInt(status)),
    ...(status === 200 ? differing(request, 'header content-type', 'text/html', type?.split(';')[0]) : []),
  ];
  const found = [
    ...page('GET {base}/', index.status, index.headers.get('content-type')),
    ...differing('GET {base}', 'status', 308n, BigInt(redirect.status)),
  ];
  for (const path of [NO_PATH, `${NO_PATH}.css`]) {
    const { status, headers } = await get(path);
    const request = `GET {base}${path}`;
    if (panel.missingFile.answersIndex(path)) found.push(...page(request, status, headers.get('content-type')));
    else found.push(...differing(request, 'status', 404n, BigInt(status)));
  }
  return found;
}

/** A path that nobody serves is no success. */
export async function lookAtNoPath(at: At): Promise<Found> {
  const { envelope } = await readWith(at, at.api + NO_PATH);
  if (envelope?.ok !== true) return [];
  return [{ request: `GET ${NO_PATH}`, where: 'body /ok', expected: 'no success', actual: true }];
}

/** Pages of other origins may call. */
export async function lookAtCors({ look, api }: At): Promise<Found> {
  const path = `${api}/server/status`;
  const preflight = {
    origin: ORIGIN,
    'access-control-request-method': 'GET',
    'access-control-request-headers': 'authorization,content-type',
  };
  const permitted = ['origin', 'methods', 'headers'].map((name) => [`access-control-allow-${name}`, '*'] as const);
  const asked = async (
    method: 'GET' | 'OPTIONS',
    headers: Readonly<Record<string, string>>,
    wanted: typeof permitted,
  ) => {
    const { answer } = await look.read({ method, path, authorization: null, headers });
    const differences = corsDifferences(new Map(wanted), answer.headers, new Map(Object.entries(headers)));
    return differences.map((each) => ({ ...each, request: `${method} /server/status from ${ORIGIN}` }));
  };
  return [
    ...(await asked('GET', { origin: ORIGIN }, permitted.slice(0, 1))),
    ...(await asked('OPTIONS', preflight, permitted)),
  ];
}
