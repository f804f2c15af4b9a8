import { OVER_UDP } from './keys.js';
import { type At, dataOf, ORIGIN, snapshots } from './looking.js';

const SECOND_ORIGIN = 'https://second-origin.invalid';
const SCHEME = 'ostp';

/**
 * Names behaviour that no server of any line has and that clients may stumble over although the answers are right,
 * because a proxy causes it.
 */
export async function proxyNotes(at: At): Promise<readonly string[]> {
  return [...(await schemeNotes(at)), ...(await originNotes(at))];
}

async function schemeNotes(at: At): Promise<readonly string[]> {
  const key = (await snapshots(at)).find(({ access_key }) => access_key !== '')?.access_key;
  if (key === undefined) return [];
  const link = await dataOf('subscribe', at, { key: String(key), query: OVER_UDP, accept: 'text/plain' });
  const scheme = typeof link === 'string' ? /^([a-z][a-z\d+.-]*):\/\//i.exec(link)?.[1] : undefined;
  if (scheme === undefined || scheme === SCHEME) return [];
  return [`share links begin with ${scheme}://, not ${SCHEME}://: is there a proxy that rewrites them?`];
}

async function originNotes({ look, api, revision }: At): Promise<readonly string[]> {
  const from = async (origin: string) => {
    const asked = { method: 'GET', path: `${api}/server/status`, authorization: null, headers: { origin } } as const;
    return (await look.read(asked)).answer.headers;
  };
  const [first, second] = [await from(ORIGIN), await from(SECOND_ORIGIN)];
  const notes: string[] = [];
  if (first.get('access-control-allow-credentials') === 'true')
    notes.push(
      'answers have Access-Control-Allow-Credentials: true, which no server sends: is there a proxy that adds it?',
    );
  const [allowed, other] = [first, second].map((headers) => headers.get('access-control-allow-origin'));
  const isRefused = (allowed === '*' || allowed === ORIGIN) && other !== '*' && other !== SECOND_ORIGIN;
  if (revision.anyOrigin && isRefused)
    notes.push(
      `pages of ${ORIGIN} may read answers, those of ${SECOND_ORIGIN} may not: is there a proxy with a list of origins?`,
    );
  return notes;
}
