import { describe, expect, test } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { noResolver } from '../../src/dns/no-resolver.js';
import { OPERATIONS, serves } from '../../src/wire/operations.js';
import { PASSWORD, revisionNamed, startLiveServer, TOKEN, USERNAME } from '../replay/live-server.js';
import { mirrored, second } from './mirrored.js';

const queries = () => [
  { timestamp: 1_700_000_000, domain: 'one.example', clientIp: '192.0.2.7', blocked: false },
  { timestamp: 1_700_000_001, domain: 'two.example', clientIp: '192.0.2.8', blocked: true },
];

/** Asks a target that has been in use everything that its line answers. */
async function askAll(line: string, kind: 'core' | 'second server') {
  const revision = revisionNamed(line);
  const target = await startLiveServer(line, {}, { loginGuard: 'off', resolver: { ...noResolver, queries } });
  for (const eventEn of ['Sign-in', 'Sign-out'])
    await target.app.keyway.core.audit.add({ eventEn, eventRu: 'Вход', success: true });
  const other = await startLiveServer(line, {}, { loginGuard: 'off' });
  const { api } = revision.root.paths('/panel');
  const token = revision.auth.encode({ kind: 'token', secret: TOKEN }) === null ? null : TOKEN;
  const credentials = { token, operator: { username: USERNAME, password: PASSWORD } };
  const asked = kind === 'core' ? { line } : { ...second(other.origin), credentials };
  const shadow = await mirrored(target.origin, { shadow: asked }, token);
  const headers = { authorization: `Bearer ${token ?? (await sessionAt(`${target.origin}${api}`))}` };
  await shadow.send('GET', `${api}/server/status`, undefined, headers);
  for (const operation of OPERATIONS) {
    if (operation.method !== 'GET' || !serves(revision, operation)) continue;
    for (const key of ['foreign-1', 'unknown'])
      await shadow.send('GET', api + operation.path.replace('{key}', key), undefined, headers);
    await shadow.send('HEAD', api + operation.path.replace('{key}', 'foreign-2'), undefined, headers);
  }
  await shadow.send('POST', `${api}/qr`, { text: 'anything' }, headers);
  await shadow.send('GET', `${api}/server/status`, undefined, headers);
  return shadow;
}

async function sessionAt(api: string): Promise<string> {
  const body = JSON.stringify({ username: USERNAME, password: PASSWORD });
  const answer = await fetch(`${api}/login`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const { data } = (await answer.json()) as { data: { token: string } };
  return data.token;
}

describe('nothing that a server in use answers to reads differs', () => {
  test.each(REVISIONS.map(({ id }) => id))('from an embedded core of the same line, %s', async (line) => {
    const { report, failures } = await askAll(line, 'core');
    const { differences, notes, compared, requests } = report();
    expect({ differences, notes, failures }).toEqual({ differences: [], notes: [], failures: [] });
    expect(compared).toBeGreaterThanOrEqual(requests - 1);
  });

  test.each(['0.2.84', '0.4.7'])('from a second server of the same line, %s', async (line) => {
    const { report, failures } = await askAll(line, 'second server');
    const { differences, notes, rows } = report();
    expect({ differences, notes, failures }).toEqual({ differences: [], notes: [], failures: [] });
    const leftOut = rows.filter(({ seen, equal }) => equal < seen).map(({ operation }) => operation);
    expect(leftOut).toEqual(['makeQr']);
  });
});
