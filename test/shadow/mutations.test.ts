import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createFileSystem } from '../../src/platform/file-system.js';
import { systemRandom } from '../../src/platform/system-ports.js';
import { createTargetPlayer } from '../../src/replay/live/target-player.js';
import { readScenarioFiles } from '../../src/replay/play/scenario-files.js';
import type { ShadowReport } from '../../src/shadow/tally.js';
import { OPERATIONS } from '../../src/wire/operations.js';
import { ROOT } from '../clone.js';
import { mutationsOf } from '../mutations/judge.js';
import type { Mutation, Site } from '../mutations/mutation.js';
import { OPERATOR, siteOf, startMutatedServer } from '../mutations/server-in-use.js';
import { type Mirrored, mirrored, second } from './mirrored.js';
import { driveAtRandom } from './random-traffic.js';

const API = '/panel/api';
const PANELS = join(ROOT, 'fixtures/recorded/panels');
const seed = Number(process.env.SOAK_SEED ?? 7);
const isWhole = process.env.SHADOW_MUTATIONS === 'all';

/** The released panels, by the version of the server that each was recorded with. */
const LINES = { '0.2.96': 'panels/current-panel', '0.2.48': 'panels/dns-panel' } as const;
type Line = keyof typeof LINES;

function credentialsFor({ revision, token }: Site) {
  return { token: revision.auth.encode({ kind: 'token', secret: token }) === null ? null : token, operator: OPERATOR };
}

/** Requests of bots, once through, with a credential of the server. */
async function driveAsWritten({ send: asked, url, settled }: Mirrored, authorization: string): Promise<void> {
  const send = (method: string, path: string, body?: unknown) => asked(method, API + path, body, { authorization });
  const read = async (path: string) => send('GET', path);
  const readByAnybody = async (path: string, headers = {}) => {
    await (await fetch(url + API + path, { headers: { connection: 'close', ...headers } })).arrayBuffer();
    await settled();
  };
  for (const path of ['/server/status', '/users', '/users/used', '/server/config', '/router/rules']) await read(path);
  for (const path of ['/users/unknown', '/users/with%2Fslash', '/users/with%20blank']) await read(path);
  await readByAnybody('/audit');
  await readByAnybody('/subscribe/used', { accept: 'text/plain' });
  await readByAnybody('/subscribe/used');
  await readByAnybody('/subscribe/unknown');
  await send('POST', '/users', { access_key: 'driven', name: 'Driven', limit_bytes: 5 });
  await send('POST', '/users', { name: 'named by the server' });
  await send('PUT', '/users/driven', { name: 'Other', limit_bytes: 6 });
  await read('/users/driven');
  await send('PUT', '/users/driven/limit', { limit_bytes: 7 });
  await read('/users/driven');
  await send('POST', '/users/used/reset');
  await send('DELETE', '/users/driven');
  await send('DELETE', '/users/driven');
  await send('PUT', '/users/driven', { name: 'Gone', limit_bytes: 6 });
  await send('PUT', '/users/driven/limit', { limit_bytes: 7 });
  await send('POST', '/users/driven/reset');
  await read('/users');
}

/** The recorded session of a panel, as `keyway replay` plays it on a server: with its credentials, and keys of its own. */
async function driveAsRecorded({ url, settled }: Mirrored, line: Line, site: Site): Promise<void> {
  const files = await readScenarioFiles([PANELS], createFileSystem());
  const [file] = files.filter((each) => each.kind === 'scenario' && each.name === LINES[line]);
  if (file?.kind !== 'scenario') throw new Error(`no ${LINES[line]} in ${PANELS}`);
  const player = await createTargetPlayer({
    origin: url,
    webpath: '/panel',
    revision: site.revision,
    credentials: credentialsFor(site),
    permissions: { writes: true, destructive: true },
    timeoutMilliseconds: 10_000,
    random: systemRandom,
    pause: async () => undefined,
    keepSaved: async () => ({ place: 'nowhere', remove: async () => undefined }),
  });
  expect(await player.play(file, {})).toMatchObject({ outcome: 'equal', reason: null });
  await settled();
}

/** Reasons why some mutations are found by nobody. */
const NOT_FOUND: Readonly<Record<string, RegExp>> = {
  'a second server is asked with the credential of its own': /unauthorized|asks for no credential/,
  'no client of these asks beforehand': /in the preflight$/,
  'failures of a state in which the server is not':
    /another (?:status|text) of "(?:failed to save|Failed to|No config path|Outbound routing is not enabled)/,
  'nobody sends a configuration without a mode': /another (?:status|text) of "Invalid config: missing/,
  'whoever writes there shows a credential': /^(?:POST|DELETE) \/audit: asks for a credential$/,
  'traffic, which a shadow has not':
    /(?:bytes_up|bytes_down|connections|online|last_seen|active_users) (?:with another value|of another type)|all are online|answered, and not done$|in the opposite order$/,
  'a server has its own time, ids and age':
    /(?:uptime_seconds|\/time|\/id) (?:with another value|of another type)|uptime stands/,
  'nobody asks the DNS server anything': /^GET \/dns\/queries: (?:\/data\/|the list)/,
  'where it stands is its own': /another host|another port|\/data\/server with another value/,
};

/** Drives the traffic of a bot and of a released panel through a shadow that is wrong in one thing. */
async function drivenBy(
  line: Line,
  mutation: Mutation | null,
): Promise<{ report: ShadowReport; noticed: readonly string[] }> {
  const open = () => startMutatedServer(line, { queries: [], shareQuery: '' });
  const [target, other] = [await open(), await open()];
  try {
    const { site } = target;
    const credentials = credentialsFor(site);
    const asked = second(await other.listen(mutation), { writes: true, destructive: true });
    const shadow = await mirrored(await target.listen(null), { shadow: { ...asked, credentials } }, credentials.token);
    const authorization = `Bearer ${credentials.token ?? site.session}`;
    await driveAsWritten(shadow, authorization);
    await driveAtRandom(shadow.url, { seed, authorization, lanes: 1, goesOn: (sent) => sent < 30 });
    await driveAsRecorded(shadow, line, site);
    const report = shadow.report();
    return { report, noticed: [...shadow.unexplained(), ...shadow.failures.map(String), ...report.notes] };
  } finally {
    await target.close();
    await other.close();
  }
}

describe.each(Object.keys(LINES) as Line[])('the traffic of the panel that was recorded with %s', (line) => {
  let used: ReadonlySet<string> = new Set();

  test('shows nothing where nothing is wrong', async () => {
    const { report, noticed } = await drivenBy(line, null);
    expect(noticed).toEqual([]);
    const compared = report.rows.filter(({ equal }) => equal > 0).map(({ operation }) => operation);
    used = new Set(
      OPERATIONS.filter(({ name }) => compared.includes(name)).map(({ method, path }) => `${method} ${path}`),
    );
    expect(used.size).toBeGreaterThan(12);
  });

  test('shows what is wrong in the operations that it uses', { timeout: 3_600_000 }, async () => {
    const reasons = Object.values(NOT_FOUND);
    const all = mutationsOf(siteOf(line)).filter(
      ({ name }) => used.has(name.split(': ')[0] ?? '') && !reasons.some((each) => each.test(name)),
    );
    expect(all.length).toBeGreaterThan(100);
    const tried = isWhole ? all : all.filter((_, index) => index % 40 === seed % 40);
    const missed: string[] = [];
    for (const mutation of tried) if ((await drivenBy(line, mutation)).noticed.length === 0) missed.push(mutation.name);
    expect(missed).toEqual([]);
  });
});
