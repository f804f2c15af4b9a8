import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import type { Credentials } from '../../src/core/model.js';
import { createMount, type Mount } from '../../src/northbound/mount.js';
import { openMountProblems } from '../../src/serve/open-mounts.js';
import { OPERATIONS } from '../../src/wire/operations.js';
import type { Revision } from '../../src/wire/traits/revision.js';
import { SEED } from '../seed.js';
import { someOf, WHOLE } from '../whole.js';
import { askEverything, CREDENTIALS, isOpenByProtocol } from './auth-matrix.js';

const subsets = (ids: readonly string[]): string[][] =>
  Array.from({ length: 2 ** ids.length - 1 }, (_, set) => ids.filter((_id, index) => ((set + 1) >> index) % 2 === 1));

const MOUNT_SETS = [
  ...subsets(['earliest', 'dns', 'current']).filter(({ length }) => length > 1),
  ...REVISIONS.map(({ id }) => [id]),
];

const describeCredentials = ({ token, username, passwordHash }: Credentials) =>
  `token ${JSON.stringify(token)}, ${username === '' ? 'no username' : 'username'}, ${passwordHash === '' ? 'no hash' : 'hash'}`;

const cases = MOUNT_SETS.flatMap((ids) => CREDENTIALS.map((credentials) => ({ ids, credentials })));

const everyOperation = new Set<string>();

const NAMED = ['earliest', 'dns', 'current'];

/** Beside one another all three say what two of them would; the other lines share the credentials among them. */
const asked = [
  ...someOf(
    cases.filter(({ ids }) => ids.length === NAMED.length),
    1,
  ),
  ...cases.filter(
    ({ ids: [id = '', ...others] }, index) =>
      others.length === 0 && (WHOLE ? NAMED.includes(id) || index % 5 === 0 : (index + SEED) % 11 === 0),
  ),
];

describe.each(asked)('mounts $ids', ({ ids, credentials }) => {
  it(`with ${describeCredentials(credentials)} admit exactly what the protocol says, on every route`, async () => {
    const matrix = await askEverything(ids, credentials);
    expect(matrix.wrong).toEqual([]);
    for (const each of matrix.asked) everyOperation.add(each.split(' ')[1] ?? '');
  });
});

it('the matrix has asked for every operation of the table', () => {
  expect(OPERATIONS.map(({ name }) => name).filter((name) => !everyOperation.has(name))).toEqual([]);
});

function revisionOf(id: string): Revision {
  const revision = REVISIONS.find((candidate) => candidate.id === id);
  if (revision === undefined) throw new Error(id);
  return revision;
}

function mountsOf(ids: readonly string[]): readonly Mount[] {
  return ids.map((id) =>
    createMount({ revision: revisionOf(id), version: '', webpath: id, panel: { file: async () => null } }),
  );
}

describe('at start', () => {
  it.each(
    cases,
  )('mounts $ids with $credentials: nothing open is served beside something closed, or where others reach it', ({
    ids,
    credentials,
  }) => {
    const mounts = mountsOf(ids);
    const open = ids.filter((id) => isOpenByProtocol(revisionOf(id), credentials));
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
    const credentials = { token: 'T0ken', username: '', passwordHash: '' };
    const mounts = mountsOf(['dns', 'current']);
    const [problem] = openMountProblems({ mounts, credentials, bind: '127.0.0.1:1', trustsProxy: false });
    expect(problem).toContain('dns at /dns/api');
    expect(problem).toContain('username and password_hash');
  });
});
