import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { ROOT } from '../clone.js';
import { expectationOf } from './expectations.js';
import { LINES, mutationsOf, noticedByReads, playedOn } from './judge.js';
import { withScore } from './score.js';
import { type MutatedServer, siteOf, startMutatedServer } from './server-in-use.js';

/** Every tenth: `npm run mutations` takes all. */
function tenthOf<T>(all: readonly T[]): readonly T[] {
  return all.filter((_, index) => index % 10 === 7);
}

/** Contradictions between answers of one server, each of which its reads tell alone. */
const CONTRADICTIONS = [
  'GET /server/status: uptime stands still',
  'GET /server/status: version of another line',
  'GET /server/config: keys are empty',
  'GET /server/config: lacks a key',
  'GET /server/config: has a key too many',
  'GET /server/config: another name of a key',
  'GET /server/config: another limit_bytes of a key',
  'GET /server/config: another dns.enabled',
  'GET /users: /data/*/name with another value',
  'GET /users: /data/*/limit_bytes with another value',
  'GET /users: /data/*/bytes_up with another value',
  'GET /users: integers beyond 2^53 are rounded',
  'GET /users/{key}: integers beyond 2^53 are rounded',
  'GET /users/{key}: a key with a slash is not found',
  'GET /users/{key}: a key with a blank is not found',
  'GET /subscribe/{key}: link with owndns and without exchanged',
  'GET /subscribe/{key}: asks for a credential',
  'Authorization, a prefix of TOKEN: is let in',
  'Authorization, SESSION and more: is let in',
  'GET of a path that nobody serves: an empty 200',
  'GET {base}: redirect to elsewhere',
  'GET {base}/….js: a script as text/plain',
  'GET {base}/….js: a script is missing',
];
const OF_RULES = [
  'GET /audit: /data/*/time with another value',
  'GET /router/rules: the list is empty',
  'GET /router/rules: the list is in the opposite order',
  'GET /router/rules: /data/*/domain_suffix with another value',
  'GET /server/config: rules all go to the proxy',
];
const OF_DNS = [
  'GET /dns/config: /data/doh_upstream with another value',
  'GET /server/config: another dns.adblock_urls',
];

describe.each(LINES)('a server of %s that is wrong in one thing', (line) => {
  let server: MutatedServer;
  beforeAll(async () => {
    server = await startMutatedServer(line);
  });
  afterAll(() => server.close());

  test('fits its line by reads while it is not wrong', async () => {
    expect(await noticedByReads(server, null)).toBeNull();
  });

  test('has as many mutations as names for them', () => {
    const names = mutationsOf(siteOf(line)).map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
    expect(names.length).toBeGreaterThan(150);
  });

  test('is told by reads, of a tenth of what may be wrong, wherever reads can tell and nowhere else', async () => {
    const unexpected: string[] = [];
    for (const mutation of tenthOf(mutationsOf(server.site))) {
      const by = await noticedByReads(server, mutation);
      const isExpected = expectationOf(mutation, server.site).mode === 'reads';
      // Of a login scenarios tell, which sign in.
      if ((by !== null) !== isExpected && !mutation.name.startsWith('POST /login'))
        unexpected.push(`${mutation.name}: ${by ?? 'not noticed'}`);
    }
    expect(unexpected).toEqual([]);
  });
});

test.each([
  '0.2.48',
  '0.2.96',
])('a server of %s whose answers contradict each other is told by reads alone', async (line) => {
  const server = await startMutatedServer(line);
  onTestFinished(() => server.close());
  const known = new Map(mutationsOf(server.site).map((mutation) => [mutation.name, mutation]));
  const { capabilities } = server.site.revision;
  const names = [...CONTRADICTIONS, ...(capabilities.rules ? OF_RULES : []), ...(capabilities.dns ? OF_DNS : [])];
  const missed: string[] = [];
  for (const name of names) {
    const mutation = known.get(name);
    if (mutation === undefined || (await noticedByReads(server, mutation)) === null) missed.push(name);
  }
  expect(missed).toEqual([]);
});

test('a server that answers changes wrongly is told with --writes, of some of what may be wrong', async () => {
  const line = '0.2.96';
  const site = siteOf(line);
  const changes = mutationsOf(site).filter((each) => expectationOf(each, site).mode === 'writes');
  const missed: string[] = [];
  for (const { name } of tenthOf(changes)) if ((await playedOn(line, 'writes', [name])) === null) missed.push(name);
  expect(missed).toEqual([]);
});

test('at least three quarters of the mutations are noticed by reads alone, on each line', () => {
  for (const line of LINES) {
    const site = siteOf(line);
    const expected = mutationsOf(site).map((each) => expectationOf(each, site));
    const byReads = expected.filter(({ mode }) => mode === 'reads').length;
    expect({ line, share: byReads / expected.length >= 0.75 }).toEqual({ line, share: true });
  }
});

test('the score is that of the documentation (WRITE_DOCS=1 puts it there)', async () => {
  const path = join(ROOT, 'docs/replay-ci.md');
  const page = await readFile(path, 'utf8');
  if (process.env.WRITE_DOCS === '1') await writeFile(path, withScore(page));
  else expect(page).toBe(withScore(page));
});
