import type { Credentials } from '../../src/core/model.js';
import { accessOf, operationsOf } from '../../src/wire/operations.js';
import type { Revision } from '../../src/wire/traits/revision.js';
import { gatewayForTest, PASSWORD_HASH } from './gateway.js';

/** The protocol's three access checks, written down once more and apart from the code, by the name of the scheme. */
type Check = (credentials: Credentials, header: string | undefined, session: string | null) => boolean;

const TOKEN = 'T0ken';

const nobody = ({ username, passwordHash }: Credentials) => username === '' && passwordHash === '';
const bySession: Check = (_credentials, header, session) => session !== null && header === `Bearer ${session}`;
const byToken: Check = ({ token }, header) => token === TOKEN && (header === TOKEN || header === `Bearer ${TOKEN}`);

const OPEN: Readonly<Record<string, (credentials: Credentials) => boolean>> = {
  'static token': ({ token }) => token === null || token === '',
  'session token': nobody,
  'session or static token': (credentials) => nobody(credentials) && credentials.token === null,
  'session or static token, never open': () => false,
};
const CHECKS: Readonly<Record<string, Check>> = {
  'static token': byToken,
  'session token': bySession,
  'session or static token': (...asked) => bySession(...asked) || byToken(...asked),
  'session or static token, never open': (...asked) => bySession(...asked) || byToken(...asked),
};

/** Whether the protocol leaves the revision open under these credentials. Throws for a scheme that is not written down here. */
export function isOpenByProtocol({ auth }: Revision, credentials: Credentials): boolean {
  const open = OPEN[auth.name];
  if (open === undefined) throw new Error(`the scheme "${auth.name}" is not written down`);
  return open(credentials);
}

function passesByProtocol({ auth }: Revision, ...asked: Parameters<Check>): boolean {
  const check = CHECKS[auth.name];
  if (check === undefined) throw new Error(`the scheme "${auth.name}" is not written down`);
  return check(...asked);
}

/** Every combination of token, name and hash. */
export const CREDENTIALS: readonly Credentials[] = [null, '', TOKEN].flatMap((token) =>
  ['', 'admin'].flatMap((username) => ['', PASSWORD_HASH].map((passwordHash) => ({ token, username, passwordHash }))),
);

/** What named tokens may do, written down once more and apart from the tables; `all` may everything. */
const MAY: Readonly<Record<string, readonly string[]>> = {
  status: ['getStatus'],
  relay: ['listUsers', 'getUser'],
  create: ['listUsers', 'getUser', 'createUser', 'bulkCreateUsers', 'makeQr'],
  keys: [
    ...['getStatus', 'listUsers', 'getUser', 'createUser', 'bulkCreateUsers'],
    ...['updateUser', 'deleteUser', 'setLimit', 'resetUser', 'getShare', 'makeQr'],
  ],
};
const PRESETS = [...Object.keys(MAY), 'all'];

/** Makes a token of each preset on the socket for commands. Resolves to the headers that show them. */
async function namedTokens(app: Awaited<ReturnType<typeof gatewayForTest>>): Promise<ReadonlyMap<string, string>> {
  const control = app.keyway.control();
  const made = PRESETS.map(async (may): Promise<[string, string]> => {
    const payload = { name: `token-${may}`, may };
    const answer = await control.inject({ method: 'POST', url: '/panel/keyway/v1/tokens', payload });
    return [`Bearer ${answer.json().data.token}`, may];
  });
  return new Map(await Promise.all(made)).set('Bearer kw_unknown', 'nothing');
}

/** What a matrix asked, as `revision operation`, and where an answer was not the protocol's. */
export interface Matrix {
  readonly asked: ReadonlySet<string>;
  readonly wrong: readonly string[];
}

/** Asks every operation of every mount with every kind of header, and compares who is let in with the protocol. */
export async function askEverything(ids: readonly string[], credentials: Credentials): Promise<Matrix> {
  const app = await gatewayForTest({
    mounts: ids.map((revision) => ({ revision, webpath: `p-${revision}` })),
    listener: credentials,
  });
  const asked = new Set<string>();
  const wrong: string[] = [];
  const sessions = new Map<Revision, string>();
  for (const { revision, api } of app.keyway.mounts) {
    const payload = { username: 'admin', password: 'password' };
    const login = await app.inject({ method: 'POST', url: `${api}/login`, payload });
    const configured = credentials.username !== '' && credentials.passwordHash !== '';
    const expected = revision.capabilities.login === undefined ? 404 : configured ? 200 : 400;
    if (login.statusCode !== expected) wrong.push(`${revision.id} login: ${login.statusCode}`);
    if (login.statusCode === 200) sessions.set(revision, login.json().data.token);
  }
  const named = await namedTokens(app);
  const headers = [
    ...named.keys(),
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
    for (const operation of operationsOf(revision)) {
      asked.add(`${revision.id} ${operation.name}`);
      if (operation.subject === 'session') continue; // Its 401 is about the password, and was asked above.
      for (const header of headers) {
        const answer = await app.inject({
          method: operation.method,
          url: `${api}${operation.path.replace('{key}', 'unknown')}`,
          headers: header === undefined ? {} : { authorization: header },
        });
        const admitted =
          accessOf(operation, revision) === 'open' ||
          isOpenByProtocol(revision, credentials) ||
          passesByProtocol(revision, credentials, header, sessions.get(revision) ?? null);
        const may = named.get(header ?? '') ?? 'nothing';
        if (!admitted && may !== 'nothing') {
          const expected = may === 'all' || MAY[may]?.includes(operation.name) ? isAnswered(answer) : isBarred(answer);
          if (!expected) wrong.push(`${revision.id} ${operation.name} with a token ${may}: ${answer.statusCode}`);
          continue;
        }
        const isRefused = answer.statusCode === 401 && answer.body === '{"ok":false,"error":"unauthorized"}';
        const isRight = admitted ? isAnswered(answer) || operation.name === 'subscribe' : isRefused;
        if (!isRight) wrong.push(`${revision.id} ${operation.name} with ${header}: ${answer.statusCode}`);
      }
    }
  }
  return { asked, wrong };
}

interface Given {
  readonly statusCode: number;
  readonly body: string;
}

const isAnswered = ({ statusCode }: Given): boolean => ![401, 403, 404].includes(statusCode);
const isBarred = ({ statusCode, body }: Given): boolean =>
  statusCode === 403 && body === '{"ok":false,"error":"not permitted"}';
