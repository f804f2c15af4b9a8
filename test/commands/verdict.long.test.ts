import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createFileSystem } from '../../src/platform/file-system.js';
import { ROOT } from '../clone.js';
import { folderForTest } from '../folder-for-test.js';
import { PASSWORD, startLiveServer, TOKEN, USERNAME, unhurried } from '../lab/live-server.js';
import { runHere } from './context.js';

const environment = { KEYWAY_PASSWORD: PASSWORD };
const { wait } = unhurried();

function startServer(revision: string, panel: Readonly<Record<string, string>> = {}) {
  return startLiveServer(revision, panel, unhurried().server);
}

function replay(origin: string, revision: string, ...flags: readonly string[]) {
  return runHere(['replay', '--target', origin, '--revision', revision, ...flags], { environment, wait });
}

const WITH_ALL = ['--username', USERNAME, '--token', TOKEN] as const;

async function folderWith(files: Readonly<Record<string, unknown>>): Promise<string> {
  const folder = await folderForTest();
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), JSON.stringify(content));
  return folder;
}

const SIGNS_OUT = 'whoever is signed in there is signed out';

describe('reading alone, keyway replay', () => {
  test.each([
    ['current', '0.2.48', 'current, 0.4.0'],
    ['0.2.60', '0.2.48', '0.2.51'],
    ['earliest', '0.2.48', 'earliest'],
  ])('of a server of %s as %s exits 1, however little was seen, and says what it speaks', async (served, asked, spoken) => {
    const { origin } = await startServer(served);
    const ended = await replay(origin, asked, ...WITH_ALL, '--require-played', '100%');
    expect(ended.output).toContain('\nnot compatible as far as seen: ');
    expect(ended.output).toContain(`\nwhat was read fits ${spoken}\nnot compatible`);
    expect(ended.code).toBe(1);
  });

  test('of the right revision says that it signs in and what the verdict rests on', async () => {
    const { origin } = await startServer('current');
    const ended = await replay(origin, 'current', ...WITH_ALL, '--require-played', '8');
    expect(ended.output).toContain(SIGNS_OUT);
    expect(ended.output).toMatch(
      /\ncompatible as far as seen: 8 of 18 operations, 10 of 10 rules, told apart from 11 of 12 other lines\n {2}not seen: putConfig, /,
    );
    expect(ended.code).toBe(0);
  });

  test('without a credential says of which lines it could not tell it', async () => {
    const { origin } = await startServer('dns');
    const ended = await replay(origin, 'dns', '--verbose');
    expect(ended.output).toContain('\nnot judged, no credential was given, as far as seen: ');
    expect(ended.output).toContain('told apart from 11 of 12 other lines');
    expect(ended.output).toContain('\n  not told apart from 0.2.51: auth: session token → session or static token\n');
    expect(ended.output).toContain('skipped   reads/listUsers: the API asks for a credential: needs --token');
    expect(ended.code).toBe(3);
  });

  test('with a token alone signs nobody out, and with more required than was seen exits 3', async () => {
    const { origin } = await startServer('current');
    const ended = await replay(origin, 'current', '--token', TOKEN, '--require-played', '9');
    expect(ended.output).not.toContain(SIGNS_OUT);
    expect(ended.complaints).toContain('--require-played 9: only 7 of 18 operations were seen');
    expect(ended.code).toBe(3);
  });

  test.each(['x', '101%', '-1', '1.5'])('refuses --require-played %s', async (required) => {
    const ended = await runHere(['replay', '--require-played', required]);
    expect(ended.complaints).toContain('--require-played: expected a number of operations');
    expect(ended.code).toBe(2);
  });
});

describe('where nothing is played at all, keyway replay', () => {
  test('with every scenario skipped says so and exits 2', async () => {
    const { origin } = await startServer('current');
    const exchange = {
      operation: 'clearAudit',
      request: { method: 'DELETE', path: '/audit' },
      response: { status: 200 },
    };
    const scenario = { title: 't', revision: 'current', source: 'recorded', given: {}, exchanges: [exchange] };
    const folder = await folderWith({ 'one.json': scenario });
    const ended = await replay(origin, 'current', '--token', TOKEN, join(folder, 'one.json'));
    expect(ended.output).toMatch(/\n +1 {2}not seen, because that clears the audit list\n/);
    expect(ended.complaints).toContain('nothing was played: every scenario was skipped');
    expect(ended.code).toBe(2);
  });

  test('with paths that hold no scenario says so and exits 2', async () => {
    const ended = await runHere(['replay', await folderWith({})]);
    expect(ended.complaints).toContain('there is no scenario in these paths');
    expect(ended.code).toBe(2);
  });
});

describe('reading alone, keyway compare', () => {
  async function compare(left: string, right: string, leftRevision = left, rightRevision = right) {
    const sides = ['LEFT', 'RIGHT'].map((side) => [`${side}_TOKEN`, TOKEN] as const);
    const [one, other] = [await startServer(left), await startServer(right)];
    const revisions = ['--left-revision', leftRevision, '--right-revision', rightRevision];
    const argv = ['compare', '--left', one.origin, '--right', other.origin, ...revisions];
    return runHere(argv, { environment: Object.fromEntries(sides), wait });
  }

  test('of a server that does not speak what is said of it shows that at its side', async () => {
    const ended = await compare('current', 'current', 'current', '0.2.84');
    expect(ended.output).toContain('equal     left/reads/operations');
    expect(ended.output).toContain('DIFFERENT right/reads/operations');
    expect(ended.code).toBe(1);
  });
});

describe('keyway replay --format', () => {
  const SCENARIO = {
    title: 't',
    revision: 'current',
    source: 'spec',
    given: {},
    exchanges: [{ operation: 'listUsers', request: { method: 'GET', path: '/users' }, response: { status: 401 } }],
  };

  test('writes files in their canonical form, once', async () => {
    const folder = await folderWith({ 'one.json': SCENARIO });
    const first = await runHere(['replay', '--format', '.'], { folder });
    expect(first.output).toBe(`formatted ${join(folder, 'one.json')}\n1 of 1 files changed\n`);
    expect(await readFile(join(folder, 'one.json'), 'utf8')).toBe(
      [
        '{',
        '  "title": "t",',
        '  "revision": "current",',
        '  "source": "spec",',
        '  "given": {},',
        '  "exchanges": [',
        '    { "operation": "listUsers",',
        '      "request": {"method":"GET","path":"/users"},',
        '      "response": {"status":401} }',
        '  ]',
        '}',
        '',
      ].join('\n'),
    );
    expect((await runHere(['replay', '--format', '.'], { folder })).output).toBe('0 of 1 files changed\n');
  });

  test('leaves a file whole on a full disk', async () => {
    const folder = await folderWith({ 'one.json': SCENARIO });
    const before = await readFile(join(folder, 'one.json'), 'utf8');
    const full = createFileSystem();
    const refused = async (): Promise<never> => {
      throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
    };
    const overwrite: typeof full.overwrite = async (path) => {
      await full.overwrite(path, Buffer.alloc(0));
      return refused();
    };
    const options = { folder, fileSystem: { ...full, overwrite, createSynced: refused } };
    expect(await runHere(['replay', '--format', '.'], options)).toMatchObject({
      code: 2,
      complaints: expect.stringContaining('ENOSPC'),
    });
    expect(await readFile(join(folder, 'one.json'), 'utf8')).toBe(before);
  });

  test.each([
    ['createSynced', 'EPERM'],
    ['createSynced', 'EACCES'],
    ['rename', 'EBUSY'],
  ])('writes into a file in whose place no other can be put: %s fails with %s', async (call, code) => {
    const folder = await folderWith({ 'one.json': SCENARIO });
    const refused = async () => Promise.reject(Object.assign(new Error(code), { code }));
    const options = { folder, fileSystem: { ...createFileSystem(), [call]: refused } };
    expect(await runHere(['replay', '--format', '.'], options)).toMatchObject({ code: 0, complaints: '' });
    expect((await runHere(['replay', '--format', '.'], { folder })).output).toBe('0 of 1 files changed\n');
  });

  test('leaves what is no scenario as it is, says so and exits 2', async () => {
    const folder = await folderWith({ 'odd.json': { ...SCENARIO, tittle: 't' } });
    const ended = await runHere(['replay', '--format', '.'], { folder });
    expect(ended.complaints).toContain('/tittle: expected no such member (did you mean title?)');
    expect(ended.code).toBe(2);
    expect(JSON.parse(await readFile(join(folder, 'odd.json'), 'utf8'))).toHaveProperty('tittle');
  });

  test.each([
    [['--format'], '--format: expected the paths that are to be formatted'],
    [['--format', '--revision', 'dns', '.'], '--revision: expected no --format with it'],
  ])('refuses %j', async (argv, problem) => {
    const ended = await runHere(['replay', ...argv]);
    expect(ended.complaints).toContain(problem);
    expect(ended.code).toBe(2);
  });
});

describe('reports of a run in which nothing could be played', () => {
  const run = (reporter: string) =>
    runHere(['replay', '--target', 'http://127.0.0.1:1', '--revision', 'current', '--reporter', reporter]);
  const REASON = '--target http://127.0.0.1:1: nobody listens there (ECONNREFUSED)';

  test('are whole documents with the reason', async () => {
    const json = await run('json');
    expect(JSON.parse(json.output)).toEqual({
      summary: { equal: 0, different: 0, skipped: 0, broken: 0 },
      verdict: null,
      problems: [REASON],
      scenarios: [],
    });
    const junit = await run('junit');
    expect(junit.output).toMatch(
      /^<\?xml .*\n<testsuites tests="1" failures="0" errors="1" skipped="0">\n[\s\S]*<\/testsuites>\n$/,
    );
    expect(junit.output).toContain(`<error message="${REASON}"/>`);
    expect((await run('github')).output).toBe(`::error title=keyway::${REASON}\n`);
    expect([json.code, junit.code]).toEqual([2, 2]);
  });
});

describe('the report for GitHub', () => {
  test('has an error at each file that differs, a line for each that was not played, and the verdict', async () => {
    const { origin } = await startServer('current');
    const exchange = (operation: string, method: string, path: string, status: number) => ({
      operation,
      request: { method, path },
      response: { status },
    });
    const scenario = (...exchanges: readonly object[]) => ({
      title: 't',
      revision: 'current',
      source: 'recorded',
      given: {},
      exchanges,
    });
    const folder = await folderWith({
      'a,b.json': scenario(exchange('listAudit', 'GET', '/audit', 201)),
      'skipped.json': scenario(exchange('clearAudit', 'DELETE', '/audit', 200)),
    });
    const argv = ['replay', '.', '--target', origin, '--revision', 'current', '--reporter', 'github'];
    const { output, code } = await runHere(argv, { folder, wait });
    const name = basename(folder);
    expect(output).toContain(
      `::error file=a%2Cb.json,title=${name}/a%2Cb::step 1: GET /audit: status: expected 201, found 200\n`,
    );
    expect(output).toMatch(/\n +1 {2}not seen, because that clears the audit list\n/);
    expect(output).toContain(
      '::notice title=keyway::not compatible as far as seen: 1 of 2 operations%0A  not seen: clearAudit\n',
    );
    expect(code).toBe(1);
  });
});

describe('keyway compare of two lines on embedded cores', () => {
  const PANEL = join(ROOT, 'fixtures/recorded/panels/dns-panel.json');
  const move = (from: string, to: string, ...flags: readonly string[]) =>
    runHere(['compare', '--from', from, '--to', to, ...flags]);

  test('lists what changes by client and operation, with how often and the difference of the lines', async () => {
    const ended = await move('0.2.48', '0.3.6', PANEL);
    const [, summary = ''] = ended.output.split('What changes from 0.2.48 to 0.3.6, by client:\n');
    expect(summary.trimEnd().split('\n')).toEqual([
      'dns-panel',
      '  reads that fail',
      '    getDnsConfig: not served, 2 of 2 calls   (dns: four members → none)',
      '    listDnsQueries: not served, 2 of 2 calls   (dns: four members → none)',
      '  gone, or refused',
      '    putDnsConfig: not served, 1 of 1 calls   (dns: four members → none)',
      '  new, or other',
      '    listUsers body /data/*/last_seen: nothing → null, 7 of 7 calls   (snapshot: name → name, last_seen)',
      '    listUsers body /data/*/online: true → false, 7 of 7 calls   (online: counters exist → connections > 0)',
      expect.stringMatching(
        /^ {4}subscribe body \/data: ".*" → ".*\?type=udp", 1 of 1 calls {3}\(share query: configured, owndns → /,
      ),
    ]);
    expect(ended.code).toBe(1);
  });

  test.each([
    ['0.2.48', '0.3.6', 'reads', 1],
    ['0.3.6', '0.2.48', 'reads', 0],
    ['0.3.6', '0.2.48', 'gone', 1],
    ['0.2.51', '0.2.60', 'new', 0],
    ['0.2.35', '0.2.48', 'reads', 1],
  ])('from %s to %s with --fail-on %s exits %i', async (from, to, failOn, code) => {
    expect((await move(from, to, '--fail-on', failOn, PANEL)).code).toBe(code);
  });

  test('from a line with its API elsewhere says that every client is concerned', async () => {
    const ended = await move('0.2.35', '0.2.48', PANEL);
    expect(ended.output).toContain(
      'every client\n  reads that fail\n    everything, at the address that it knows   (API root: /api → {base}/api)',
    );
  });

  test('without paths plays the scenarios of the line that is left', async () => {
    const ended = await move('0.4.0', '0.4.5', '--reporter', 'json');
    const { summary, scenarios } = JSON.parse(ended.output);
    expect(summary).toMatchObject({ different: 0, skipped: 0, broken: 0 });
    expect(scenarios.length).toBeGreaterThan(4);
    expect(ended.code).toBe(0);
  });

  test.each([
    [['--from', 'dns'], '--to: expected a revision'],
    [['--from', 'dns', '--to', 'current', '--left', 'http://x'], '--left: expected no --from and --to with it'],
    [['--from', 'dns', '--to', 'current', '--fail-on', 'all'], '--fail-on: expected one of reads, gone, new'],
  ])('refuses %j', async (argv, problem) => {
    const ended = await runHere(['compare', ...argv]);
    expect(ended.complaints).toContain(problem);
    expect(ended.code).toBe(2);
  });
});

describe('keyway identify', () => {
  const identify = (...argv: readonly string[]) => runHere(['identify', ...argv], { wait });

  test.each([
    'earliest',
    '0.2.36',
    '0.2.51',
    '0.2.86',
    'current',
    '0.3.21',
  ])('of a server of %s with its token is as certain of the line as can be, and says by what', async (revision) => {
    const { origin } = await startServer(revision, { 'index.html': '<title>panel</title>' });
    const ended = await identify(origin, '--token', TOKEN);
    // A server of 0.4.0 answers as one of current does, but for its version.
    const sure = revision === 'current' ? 'likely' : 'certain';
    expect(ended.output).toMatch(
      new RegExp(String.raw`^http://127\.0\.0\.1:\d+/\S*api: \S+ \(0\.\d+\.\d+ to \S+\), ${sure}\n`),
    );
    expect(ended.output).toMatch(/\n {2}not \S+: GET \S+.*: expected .*, found .*\n/);
    expect(ended.code).toBe(0);
  });

  test('without a token names the lines that are left, and signs nobody out', async () => {
    const { origin, app } = await startServer('dns');
    const login = await app.inject({
      method: 'POST',
      url: '/panel/api/login',
      payload: { username: USERNAME, password: PASSWORD },
    });
    const { token } = login.json().data;
    const ended = await identify(origin);
    expect(ended.output).toContain('one of dns (0.2.45 to 0.2.50), 0.2.51 (0.2.51 to 0.2.83)\n');
    expect(ended.output).toContain('  cannot be told from 0.2.51: auth: session token → session or static token\n');
    expect(ended.code).toBe(1);
    const headers = { authorization: `Bearer ${token}` };
    expect((await app.inject({ url: '/panel/api/server/status', headers })).statusCode).toBe(200);
  });

  test('with a token that is refused takes it for no evidence', async () => {
    const { origin } = await startServer('0.2.51');
    expect((await identify(origin, '--token', 'typo')).output).toContain('one of dns (0.2.45 to 0.2.50), 0.2.51 ');
  });

  test('of several lines that fit takes the one of the version that it reports', async () => {
    const { origin } = await startServer('0.2.20');
    const ended = await identify(origin, '--token', TOKEN);
    expect(ended.output).toContain('/api: 0.2.0 (0.2.0 to 0.2.24), likely\n  it reports 0.2.20\n');
    expect(ended.output).toContain('  cannot be told from 0.2.25: share query: none → configured\n');
    expect(ended.code).toBe(0);
  });

  test('where no such API answers says where it looked and exits 2', async () => {
    const { origin } = await startServer('current');
    const ended = await identify(`${origin}/elsewhere`);
    expect(ended.complaints).toContain('no such API answers at /api or /elsewhere/api: is the web path right?');
    expect(ended.code).toBe(2);
  });

  test.each([[[]], [['ftp://x']], [['http://x', 'http://y']]])('refuses %j', async (argv) => {
    const ended = await identify(...argv);
    expect(ended.complaints).toContain("expected one server's base URL");
    expect(ended.code).toBe(2);
  });
});
