import { REVISIONS } from '../../../revisions/all.js';
import type { Caller } from '../../client/call.js';
import { createCaller } from '../../client/caller.js';
import { createControl, type TargetCredentials } from '../../client/signed-in-caller.js';
import { type Identified, identify as identifyServer } from '../../lab/reads/identify.js';
import { createLook } from '../../lab/reads/look.js';
import { type FlagReading, type ParsedFlags, valueFlag } from '../../settings/flags.js';
import type { Revision } from '../../wire/traits/revision.js';
import type { CommandContext, ExitCode } from '../command.js';
import { defineCommand } from '../define-command.js';
import { type BaseUrl, baseUrl, CA_FLAG, credentialsOf, lineOf, timeoutOf, trustedBy } from './settings.js';

const FLAGS = [valueFlag('token', 'TOKEN'), valueFlag('username', 'NAME'), CA_FLAG, valueFlag('timeout', 'SECONDS')];

const SOURCES = { username: null, password: 'KEYWAY_PASSWORD', token: 'KEYWAY_TOKEN' };

function readSettings(reading: FlagReading, { words: [word, ...others] }: ParsedFlags, context: CommandContext) {
  const url = word === undefined ? null : baseUrl(word);
  if (url === null || others.length > 0)
    reading.problems.push("expected one server's base URL, such as http://127.0.0.1:9090/secret");
  const timeoutMilliseconds = timeoutOf(reading);
  const { token, operator } = credentialsOf(reading, context, SOURCES);
  const credentials = { token: token === '' ? null : token, operator };
  return url && { url, credentials, ca: reading.value('ca'), timeoutMilliseconds };
}

type Asked = NonNullable<ReturnType<typeof readSettings>>;

async function work(caller: Caller, { url, credentials }: Asked, { output }: CommandContext): Promise<ExitCode> {
  const session = await sessionOf(caller, url, credentials);
  const look = createLook({ caller, webpath: url.webpath, token: credentials.token, session });
  const found = await identifyServer(look, REVISIONS, lineOf);
  if (found.length === 0) {
    const roots = [...new Set(REVISIONS.map(({ root }) => root.paths(url.webpath).api))].join(' or ');
    throw new Error(`${url.origin}: no such API answers at ${roots}: is the web path right?`);
  }
  for (const each of found) for (const line of linesOf(each, url.origin)) output.line(line);
  return found.every(({ sureness }) => sureness === 'certain' || sureness === 'likely') ? 0 : 1;
}

/** A session at the first API root that asks for a credential and whose lines have a login; null where no name is given. */
async function sessionOf(
  caller: Caller,
  { origin, webpath }: BaseUrl,
  credentials: TargetCredentials,
): Promise<string | null> {
  if (credentials.operator === null) return null;
  for (const revision of REVISIONS.filter(({ capabilities }) => capabilities.login !== undefined)) {
    const { api, base } = revision.root.paths(webpath);
    const path = `${api}/server/status`;
    const { status } = await caller.send({ method: 'GET', path, headers: new Map(), body: undefined });
    if (status !== 401) continue;
    const target = { origin, apiRoot: api, base };
    return createControl(caller, { target, revision, credentials: { ...credentials, token: null } }).session();
  }
  return null;
}

function linesOf(
  { apiRoot, fitting, sureness, version, excluded, untold }: Identified,
  origin: string,
): readonly string[] {
  const [first, ...others] = fitting;
  const where = `${origin}${apiRoot}`;
  const head =
    first === undefined
      ? `${where}: no known line`
      : sureness === 'unsure'
        ? `${where}: one of ${[first, ...others].map(named).join(', ')}`
        : `${where}: ${named(first)}, ${sureness}`;
  return [
    head,
    ...(version === null
      ? ['  its version is told to nobody without a credential (--token)']
      : [`  it reports ${version}`]),
    ...untold.map((each) => `  cannot be told from ${each}`),
    ...excluded.map(({ revision, by }) => `  not ${revision.id}: ${by}`),
  ];
}

function named({ id, from, to }: Revision): string {
  return `${id} (${from} to ${to ?? 'later'})`;
}

export const identify = defineCommand<Asked, Caller>({
  name: 'identify',
  flags: FLAGS,
  ask: (reading, flags, { context }) => readSettings(reading, flags, context),
  home: async (_settings, { url, ca, timeoutMilliseconds }, { context }) =>
    createCaller({ origin: url.origin, timeoutMilliseconds, ...(await trustedBy(ca, context)) }),
  work,
  close: async (caller) => caller.close(),
  failureCode: 2,
  help: () => `Usage: keyway identify URL [--token TOKEN] [--username NAME]

Says which line a running server speaks, how sure that is, and by what each other line is excluded. It
only reads, sends wrong credentials to see how they are refused, and signs in only with --username. URL is the server's base URL, with its web path.

Where the API asks for a credential, most is told with the static token; without it some lines may be
left that no read without a credential tells apart.

  --token TOKEN      The static token (or KEYWAY_TOKEN).
  --username NAME    Signs in as this operator, with the password from KEYWAY_PASSWORD: whoever is signed
                     in there is signed out. Lines that know no token there show themselves only so.
  --ca FILE          Certificates in PEM that are trusted instead of the system's.
  --timeout SECONDS  How long one exchange may take. Default: 10.

  keyway identify http://127.0.0.1:9090/secret

Exit codes: 0 one line, certain or by the version that it reports; 1 several are left, or none is known;
2 nothing could be read.`,
});
