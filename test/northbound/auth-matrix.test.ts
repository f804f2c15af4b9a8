import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../revisions/index.js';
import type { Credentials } from '../../src/core/model.js';
import { createMount, type Mount } from '../../src/northbound/mount.js';
import { openMountProblems } from '../../src/serve/open-mounts.js';
import { operationsWith } from '../../src/wire/operations.js';
import { gatewayForTest, PASSWORD_HASH } from './gateway.js';

/** The protocol's three access checks, written down once more and apart from the code, by revision id. */
type Scheme = 'static' | 'session' | 'either';
const SCHEMES: Readonly<Record<string, Scheme>> = {
  '0.2.0': 'static',
  '0.2.25': 'static',
  earliest: 'static',
  '0.2.35': 'static',
  '0.2.36': 'session',
  dns: 'session',
  '0.2.51': 'either',
  '0.2.84': 'either',
  current: 'either',
  '0.3.7': 'either',
};

const TOKEN = 'T0ken';

const CREDENTIALS: readonly Credentials[] = [null, '', TOKEN].flatMap((token) =>
  ['', 'admin'].flatMap((username) => ['', PASSWORD_HASH].map((passwordHash) => ({ token, username, passwordHash }))),
);

function isOpen(scheme: Scheme, { token, username, passwordHash }: Credentials): boolean {
  const nobody = username === '' && passwordHash === '';
  if (scheme === 'static') return token === null || token === '';
  return scheme === 'session' ? nobody : nobody && token === null;
}

function passes(scheme: Scheme, credentials: Credentials, header: string | undefined, session: string | null): boolean {
  if (isOpen(scheme, credentials)) return true;
  const bySession = session !== null && header === `Bearer ${session}`;
  const byToken = credentials.token === TOKEN && (header === TOKEN || header === `Bearer ${TOKEN}`);
  if (scheme === 'static') return byToken;
  return scheme === 'session' ? bySession : bySession || byToken;
}

const subsets = (ids: readonly string[]): string[][] =>
  Array.from({ length: 2 ** ids.length - 1 }, (_, set) => ids.filter((_id, index) => ((set + 1) >> index) % 2 === 1));

const MOUNT_SETS = [...subsets(['earliest', 'dns', 'current']), ...Object.keys(SCHEMES).map((id) => [id])];

const describeCredentials = ({ token, username, passwordHash }: Credentials) =>
  `token ${JSON.stringify(token)}, ${username === '' ? 'no username' : 'username'}, ${passwordHash === '' ? 'no hash' : 'hash'}`;

const cases = MOUNT_SETS.flatMap((ids) => CREDENTIALS.map((credentials) => ({ ids, credentials })));

describe.each(cases)('mounts $ids', ({ ids, credentials }) => {
  it(`with ${describeCredentials(credentials)} admit exactly what the protocol says, on every route`, async () => {
    const app = await gatewayForTest({
      mounts: ids.map((revision) => ({ revision, webpath: `p-${revision}` })),
      listener: credentials,
    });
    const sessions = new Map<string, string>();
    for (const { revision, api } of app.keyway.mounts) {
      const login = await app.inject({
        method: 'POST',
        url: `${api}/login`,
        payload: { username: 'admin', password: 'password' },
      });
      const served = revision.capabilities.has('login');
      const configured = credentials.username !== '' && credentials.passwordHash !== '';
      expect(login.statusCode).toBe(served ? (configured ? 200 : 400) : 404);
      if (login.statusCode === 200) sessions.set(revision.id, login.json().data.token);
    }
    const headers = [
      undefined,
      '',
      'Bearer ',
      TOKEN,
      `Bearer ${TOKEN}`,
      `bearer ${TOKEN}`,
      `Bearer  ${TOKEN}`,
      `Basic ${TOKEN}`,
      'Bearer wrong',
      ...[...sessions.values()].flatMap((session) => [session, `Bearer ${session}`]),
    ];
    for (const { revision, api } of app.keyway.mounts) {
      const scheme = SCHEMES[revision.id];
      if (scheme === undefined) throw new Error(`no scheme written down for ${revision.id}`);
      for (const operation of operationsWith(revision.capabilities)) {
        if (operation.name === 'login') continue;
        for (const header of headers) {
          const answer = await app.inject({
            method: operation.method,
            url: `${api}${operation.path.replace('{key}', 'unknown')}`,
            headers: header === undefined ? {} : { authorization: header },
          });
          const admitted =
            operation.access === 'open' || passes(scheme, credentials, header, sessions.get(revision.id) ?? null);
          expect(
            answer.statusCode === 401,
            `${revision.id} ${operation.name} with ${header}: ${answer.statusCode}`,
          ).toBe(!admitted);
          if (!admitted) expect(answer.json()).toEqual({ ok: false, error: 'unauthorized' });
        }
      }
    }
  });
});

function mountsOf(ids: readonly string[]): readonly Mount[] {
  return ids.map((id) => {
    const revision = REVISIONS.find((candidate) => candidate.id === id);
    if (revision === undefined) throw new Error(id);
    return createMount({ revision, version: '', webpath: id, panel: { file: async () => null } });
  });
}

describe('at start', () => {
  it.each(
    cases,
  )('mounts $ids with $credentials: nothing open is served beside something closed, or where others reach it', ({
    ids,
    credentials,
  }) => {
    const mounts = mountsOf(ids);
    const open = ids.filter((id) => isOpen(SCHEMES[id] ?? 'static', credentials));
    const anySet = (credentials.token ?? '') !== '' || credentials.username !== '' || credentials.passwordHash !== '';
    const refused = anySet || open.length < ids.length;
    for (const bind of ['127.0.0.1:1', '[::1]:1']) {
      const context = { mounts, credentials, bind };
      const alone = openMountProblems({ ...context, trustsProxy: false });
      expect(alone, bind).toHaveLength(refused ? open.length : 0);
      expect(openMountProblems({ ...context, trustsProxy: true }), bind).toHaveLength(open.length);
    }
    for (const bind of ['0.0.0.0:1', 'unix:/run/keyway.sock'])
      expect(openMountProblems({ mounts, credentials, bind, trustsProxy: false }), bind).toHaveLength(open.length);
  });

  it('the problem names the mount and the credential that it lacks', () => {
    const credentials = { token: TOKEN, username: '', passwordHash: '' };
    const mounts = mountsOf(['dns', 'current']);
    const [problem] = openMountProblems({ mounts, credentials, bind: '127.0.0.1:1', trustsProxy: false });
    expect(problem).toContain('dns at /dns/api');
    expect(problem).toContain('username and password_hash');
  });
});
