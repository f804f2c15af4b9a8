import type { Caller } from '../southbound/call.js';
import { differing, NEEDS_CREDENTIAL, type ReadDifference } from './reads/looking.js';
import { type Finding, findingOf } from './reads/rules.js';
import type { Prepared } from './target-state.js';

const RULE = { name: 'no-credential', title: 'nobody makes or removes a key without a credential' };

/**
 * Tries to make a key without a credential, and to remove one, both the run's own. What a server says is not enough: the
 * key is looked for afterwards.
 */
export async function writesWithoutCredential(live: Prepared & { readonly caller: Caller }): Promise<Finding> {
  const { control, facts, own } = live;
  if (facts.isOpen) return findingOf(RULE, null, { unseen: 'the API is open: no credential is asked for' });
  if (!facts.hasToken && !facts.hasOperator) return findingOf(RULE, null, { unseen: NEEDS_CREDENTIAL });
  const key = `${own.prefix}nobody`;
  own.add(key);
  const isThere = async () => (await control.send('GET', `/users/${key}`)).status === 200;
  const found: ReadDifference[] = [];
  const refused = async (method: string, path: string, mayBeThere: boolean, body?: string) => {
    const request = `${method} ${path.replace(key, '{key}')} without a credential`;
    found.push(...differing(request, 'status', 401n, BigInt(await statusWithout(live, method, path, body))));
    if ((await isThere()) !== mayBeThere)
      found.push({ request, where: 'the key', expected: 'as before', actual: mayBeThere ? 'removed' : 'made' });
  };
  await refused('POST', '/users', false, JSON.stringify({ access_key: key }));
  const { status, error } = await control.send('POST', '/users', { access_key: key });
  if (status !== 200) throw new Error(`a key could not be made: ${status} ${error}`);
  await refused('DELETE', `/users/${key}`, true);
  await own.removeAll(control);
  return findingOf(RULE, null, found);
}

async function statusWithout(
  { caller, target }: Prepared & { readonly caller: Caller },
  method: string,
  path: string,
  body?: string,
): Promise<number> {
  const headers = new Map(body === undefined ? [] : [['content-type', 'application/json']]);
  const bytes = body === undefined ? undefined : Buffer.from(body);
  return (await caller.send({ method, path: target.apiRoot + path, headers, body: bytes })).status;
}
