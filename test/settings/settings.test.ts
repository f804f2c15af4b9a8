import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { resolveRevision } from '../../revisions/index.js';
import { problemText } from '../../src/settings/flags.js';
import { fileHome } from '../../src/settings/home.js';
import { SETTING_NAMES, settingsFromCommandLine } from '../../src/settings/read.js';
import { HOME_SETTINGS, memberOf, SETTINGS, type Settings, variableOf } from '../../src/settings/table.js';
import { suggest } from '../../src/wire/suggest.js';
import { WHOLE } from '../whole.js';

const FOLDER = '/srv/keyway';

interface Given {
  readonly argv?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** The text of /etc/keyway/settings.jsonc, named by KEYWAY_SETTINGS. */
  readonly file?: string;
}

async function read({ argv = [], environment = {}, file }: Given) {
  const named = file === undefined ? {} : { KEYWAY_SETTINGS: '/etc/keyway/settings.jsonc' };
  return settingsFromCommandLine(argv, {
    environment: { ...named, ...environment },
    folder: FOLDER,
    readFile: async (path) => {
      if (file === undefined || path !== '/etc/keyway/settings.jsonc')
        throw Object.assign(new Error(`no such file: ${path}`), { code: 'ENOENT' });
      return Buffer.from(file);
    },
  });
}

async function settingsOf(given: Given): Promise<Settings> {
  const answer = await read(given);
  if (!answer.ok) throw new Error(answer.problems.map(problemText).join('\n'));
  return answer.settings;
}

function mountOf(name: string) {
  const answer = resolveRevision(name);
  if (!answer.ok) throw new Error(answer.problem);
  const { revision, version, note } = answer;
  return { text: name, name, webpath: null, revision, version, note };
}

async function problemsOf(given: Given): Promise<readonly string[]> {
  const answer = await read(given);
  return answer.ok ? [] : answer.problems.map(problemText);
}

describe('settings in front of a running server', () => {
  const UPSTREAM = ['--upstream', 'https://vpn.example.org:8443/secret/'];

  it.each([
    ['http://127.0.0.1:9090', 'http://127.0.0.1:9090', '', 'keyway-127.0.0.1-9090.keyway'],
    ['http://127.0.0.1:9090/api', 'http://127.0.0.1:9090', 'api', 'keyway-127.0.0.1-9090.keyway'],
    ['https://vpn.example.org/secret/api/', 'https://vpn.example.org', 'secret', 'keyway-vpn.example.org-443.keyway'],
    ['http://[::1]:9090/a/b', 'http://[::1]:9090', 'a/b', 'keyway-_1_-9090.keyway'],
  ])('%s is read apart, and has a data folder of its own', async (url, origin, webpath, folder) => {
    const { home } = await settingsOf({ environment: { KEYWAY_UPSTREAM: url } });
    expect(home).toMatchObject({ kind: 'upstream', origin, webpath, documents: [] });
    expect(home.dataFolder).toBe(`/srv/keyway/${folder}`);
    const named = { KEYWAY_UPSTREAM: url, KEYWAY_DATA_DIR: '/data' };
    expect((await settingsOf({ environment: named })).home.dataFolder).toBe('/data');
  });

  it('have no configuration file, and none is taken beside it', async () => {
    expect((await settingsOf({ argv: [...UPSTREAM, '--no-config'] })).home.documents).toEqual([]);
    const message = 'config (flag --config): expected no configuration file with --upstream: the server has its own';
    expect(await problemsOf({ argv: [...UPSTREAM, '--config', 'server.jsonc'] })).toEqual([message]);
  });

  it('name the line by its name or by a version', async () => {
    const { home } = await settingsOf({ argv: [...UPSTREAM, '--upstream-revision', '0.2.48'] });
    expect(home).toMatchObject({ kind: 'upstream', revision: { id: 'dns' } });
    expect(await problemsOf({ argv: [...UPSTREAM, '--upstream-revision', '0.1.0'] })).toHaveLength(1);
  });

  it('take half of a login for a mistake', async () => {
    expect(await problemsOf({ argv: [...UPSTREAM, '--upstream-username', 'admin'] })).toEqual([
      'upstream-username (flag --upstream-username): expected --upstream-password with it',
    ]);
    expect(await problemsOf({ argv: UPSTREAM, environment: { KEYWAY_UPSTREAM_PASSWORD: 'x' } })).toEqual([
      'upstream-password (environment variable KEYWAY_UPSTREAM_PASSWORD): expected --upstream-username with it',
    ]);
  });

  it.each([
    'vpn.example.org',
    'ftp://vpn.example.org',
    'http://admin:pass@vpn.example.org',
    'http://h/?a',
    'http://h/a b',
  ])('refuse the address %s', async (url) => {
    const [problem = '', ...others] = await problemsOf({ argv: ['--upstream', url] });
    expect([problem.startsWith('upstream (flag --upstream): expected a server as '), others]).toEqual([true, []]);
    expect(problem).not.toContain('pass@');
  });

  it.each(['UPSTREAM_TOKEN', 'UPSTREAM_PASSWORD'])('never show what is wrong with %s', async (name) => {
    const environment = { [`KEYWAY_${name}`]: 'geheim\u0007' };
    expect((await problemsOf({ argv: UPSTREAM, environment })).join()).toMatch(/\(the value is not shown\)$/);
  });
});

describe('settings with nothing given', () => {
  it('are the defaults, the configuration file being keyway.jsonc in the working folder', async () => {
    expect(await settingsOf({})).toEqual({
      home: fileHome('/srv/keyway/keyway.jsonc', {
        dataDir: '/srv/keyway/keyway.jsonc.keyway',
        inPlace: false,
        serverVersion: null,
      }),
      revision: [mountOf('current')],
      serverHost: null,
      serverPort: null,
      shareScheme: null,
      shareQuery: null,
      bind: null,
      tlsCert: null,
      tlsKey: null,
      subscriptionBind: null,
      subscriptionTokens: null,
      token: null,
      webhook: null,
      webhookSecret: null,
      webpath: null,
      username: null,
      passwordHash: null,
      allowOpen: false,
      sunset: [],
      panelDirs: [],
      panelServers: [],
      protectAudit: false,
      ownApi: true,
      trustProxy: [],
      allowHosts: [],
      loginGuard: { failures: 5, window: 300_000 },
      maxConnections: 4096,
      feedBind: null,
      feedToken: null,
      opsBind: null,
      embeddedResolver: null,
      listFolder: null,
      seed: null,
      requestLog: 'changes',
      logLevel: 'info',
    });
  });

  it('keep the data folder beside the configuration file, and nowhere without one', async () => {
    const folderOf = async (argv: readonly string[]) => (await settingsOf({ argv })).home.dataFolder;
    expect(await folderOf([])).toBe('/srv/keyway/keyway.jsonc.keyway');
    expect(await folderOf(['--data-dir', 'data'])).toBe('/srv/keyway/data');
    expect(await folderOf(['--no-config'])).toBeNull();
  });
});

describe('precedence', () => {
  const file = '{ "bind": "127.0.0.1:3", "log_level": "warn" } // ours';

  it('a flag wins over the environment, the environment over the settings file', async () => {
    const environment = { KEYWAY_BIND: '127.0.0.1:2' };
    expect((await settingsOf({ file })).bind).toBe('127.0.0.1:3');
    expect((await settingsOf({ file, environment })).bind).toBe('127.0.0.1:2');
    expect((await settingsOf({ file, environment, argv: ['--bind', '127.0.0.1:1'] })).bind).toBe('127.0.0.1:1');
    expect((await settingsOf({ file, environment, argv: ['--bind=[::1]:1'] })).bind).toBe('[::1]:1');
  });

  it('a source that says nothing of a setting leaves it to the next', async () => {
    expect(await settingsOf({ file, argv: ['--bind', '127.0.0.1:1'] })).toMatchObject({ logLevel: 'warn' });
    expect(await settingsOf({ file, environment: { KEYWAY_BIND: '' } })).toMatchObject({ bind: '127.0.0.1:3' });
  });

  it('a repeatable setting comes from one source as a whole', async () => {
    const sources = { file: '{ "revision": ["dns"] }', environment: { KEYWAY_REVISION: 'earliest, current@new' } };
    const texts = async (given: Given) => (await settingsOf(given)).revision.map(({ text }) => text);
    expect(await texts({ file: sources.file })).toEqual(['dns']);
    expect(await texts(sources)).toEqual(['earliest', 'current@new']);
    expect(await texts({ ...sources, argv: ['--revision', 'dns@a', '--revision', '0.2.60@b'] })).toEqual([
      'dns@a',
      '0.2.60@b',
    ]);
  });

  it('--no-config of a weightier source wins over a file named elsewhere, and the other way round', async () => {
    const config = async (given: Given) => (await settingsOf(given)).home.documents;
    expect(await config({ argv: ['--no-config'], environment: { KEYWAY_CONFIG: 'a' } })).toEqual([]);
    expect(await config({ argv: ['--config', 'a'], environment: { KEYWAY_NO_CONFIG: 'true' } })).toEqual([
      '/srv/keyway/a',
    ]);
    expect(await config({ file: '{ "no_config": true }' })).toEqual([]);
    expect(await config({ argv: ['--no-config=false'] })).toEqual(['/srv/keyway/keyway.jsonc']);
  });

  it('paths start at the working folder, those of the settings file at its own', async () => {
    const given = { file: '{ "config": "server.jsonc", "panel_dir": ["current=panel"] }' };
    expect(await settingsOf(given)).toMatchObject({
      home: { path: '/etc/keyway/server.jsonc' },
      panelDirs: [{ mount: 'current', folder: '/etc/keyway/panel' }],
    });
    const { home } = await settingsOf({ ...given, argv: ['--config', '../server.jsonc'] });
    expect(home).toMatchObject({ path: '/srv/server.jsonc' });
  });
});

describe('each kind of value', () => {
  const accepted: readonly (readonly [string, string, Partial<Settings>])[] = [
    ['revision', 'dns@/old/', { revision: [{ ...mountOf('dns'), text: 'dns@/old/', webpath: 'old' }] }],
    ['server-host', '2001:db8::7', { serverHost: '[2001:db8::7]' }],
    ['server-host', 'vpn.example.org', { serverHost: 'vpn.example.org' }],
    ['server-port', '65535', { serverPort: 65535 }],
    ['share-query', '?type=tcp&x=1', { shareQuery: '?type=tcp&x=1' }],
    ['token', '', { token: null }],
    ['webpath', '', { webpath: null }],
    ['webpath', '/a/b/', { webpath: 'a/b' }],
    ['password-hash', 'a'.repeat(64), { passwordHash: 'a'.repeat(64) }],
    ['panel-dir', './a=b', { panelDirs: [{ mount: null, folder: '/srv/keyway/a=b' }] }],
    ['trust-proxy', 'fd00::/8', { trustProxy: ['fd00::/8'] }],
    ['trust-proxy', 'unix', { trustProxy: ['unix'] }],
    ['allow-host', 'Panel.Example.org.', { allowHosts: ['panel.example.org'] }],
    ['allow-host', 'Pänel.example', { allowHosts: ['xn--pnel-loa.example'] }],
    ['bind', 'unix:run/api.sock', { bind: 'unix:/srv/keyway/run/api.sock' }],
    ['subscription-bind', '0.0.0.0:8443', { subscriptionBind: '0.0.0.0:8443' }],
    ['login-guard', 'off', { loginGuard: 'off' }],
    ['login-guard', '3/10', { loginGuard: { failures: 3, window: 600_000 } }],
  ];
  it.each(accepted)('--%s=%s is taken', async (flag, text, expected) => {
    expect(await settingsOf({ argv: [`--${flag}=${text}`] })).toMatchObject(expected);
  });

  const refused: readonly (readonly [string, string])[] = [
    ['config', ''],
    ['revision', '0.1.9'],
    ['revision', 'dns@'],
    ['revision', 'dns@a b'],
    ['server-host', 'vpn.example.org:443'],
    ['server-host', 'https://vpn.example.org'],
    ['server-port', '0'],
    ['server-port', '65536'],
    ['server-port', '1e3'],
    ['share-scheme', 'ostp://'],
    ['share-query', 'type=udp'],
    ['bind', '127.0.0.1'],
    ['bind', '::1:9090'],
    ['bind', '127.0.0.1:99999'],
    ['webpath', 'a/../b'],
    ['webpath', ':key'],
    ['password-hash', 'A'.repeat(64)],
    ['allow-open', 'perhaps'],
    ['panel-dir', 'dns=panel'],
    ['trust-proxy', '10.0.0.0/33'],
    ['allow-host', 'panel.example.org:443'],
    ['allow-host', 'https://panel.example.org/'],
    ['allow-host', '*.example.org'],
    ['allow-host', ''],
    ['feed-bind', 'unix:'],
    ['bind', 'unix:'],
    ['subscription-bind', '8443'],
    ['tls-cert', ''],
    ['trust-proxy', 'unix:/run/proxy.sock'],
    ['feed-bind', '9091'],
    ['database-stale', '-1'],
    ['login-guard', '5'],
    ['login-guard', '0/5'],
    ['log-level', 'trace'],
  ];
  it.each(refused)('--%s=%s is refused with its setting, its place and what was expected', async (flag, text) => {
    const problems = await problemsOf({ argv: [`--${flag}=${text}`] });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(new RegExp(`^${flag} \\(flag --${flag}\\): expected .+`));
  });
});

describe('problems', () => {
  it('of all sources are reported at once, each with its place', async () => {
    const problems = await problemsOf({
      argv: ['--server-port', 'many', '--bnid', 'x:1', '--log-level'],
      environment: { KEYWAY_BIND: 'nowhere' },
      file: '{ "share_scheme": 7, "no_reslover": true, "login_guard": "often" }',
    });
    expect(problems).toEqual([
      'flag --bnid: there is no such flag (did you mean --bind?)',
      'log-level (flag --log-level): expected a value after it: --log-level LEVEL',
      'member "no_reslover" of /etc/keyway/settings.jsonc: there is no such setting (did you mean no_resolver?)',
      'server-port (flag --server-port): expected a whole number from 1 to 65535, got "many"',
      'share-scheme (member "share_scheme" of /etc/keyway/settings.jsonc): expected a JSON string',
      'bind (environment variable KEYWAY_BIND): expected an address as host:port, such as 127.0.0.1:9090 or [::1]:9090, or unix: and a path, such as unix:/run/keyway/api.sock, got "nowhere"',
      'login-guard (member "login_guard" of /etc/keyway/settings.jsonc): expected off, or failures/minutes such as 5/5, got "often"',
    ]);
  });

  it('name a settings file that is missing, no JSON or no object', async () => {
    expect(await problemsOf({ argv: ['--settings', 'none.jsonc'] })).toEqual([
      'settings (flag --settings): /srv/keyway/none.jsonc: No such file or directory (ENOENT)',
    ]);
    const [syntax = ''] = await problemsOf({ file: '{ "bind": }' });
    expect(syntax).toMatch(/^settings \(environment variable KEYWAY_SETTINGS\): .*: line 1, column \d+: /);
    expect(await problemsOf({ file: '[]' })).toEqual([
      'settings (environment variable KEYWAY_SETTINGS): /etc/keyway/settings.jsonc: expected a JSON object',
    ]);
  });

  it('name line and column of what is wrong in a settings file, and the member that it repeats', async () => {
    const reasons = await Promise.all(
      ['{\n  "bind": }', '{ "bind": "a:1",\n}', '{ "é": 1, "é": 2 }', '{ "bind": 01 }', '# one\n{', '{} x', '"\\q'].map(
        async (file) => (await problemsOf({ file }))[0]?.replace(/^.*settings.jsonc: /, ''),
      ),
    );
    expect(reasons).toEqual([
      'line 2, column 11: expected a value, found "}"',
      'line 2, column 1: expected a member name, found "}"',
      'line 1, column 11: duplicate member "é"',
      'line 1, column 12: expected \',\', found "1"',
      "line 2, column 2: expected ',' or '}', found the end",
      'line 1, column 4: expected JSON, found "x"',
      'line 1, column 1: unterminated string, found "\\""',
    ]);
    expect(await problemsOf({ file: '\ufeff# "one"\n{ /* two */ "bind": "a:1" // # three\n}' })).toEqual([]);
    const everySeparator = '# a\u2028b\n// a\u2029# /*\n{ "bind": "a:1" } # a\u2028';
    expect(await problemsOf({ file: everySeparator })).toEqual([]);
  });

  it('name a flag that is given twice, and --config beside --no-config', async () => {
    expect(await problemsOf({ argv: ['--bind', 'a:1', '--bind', 'b:1'] })).toEqual([
      'bind (flag --bind): given more than once, expected once',
    ]);
    expect(await problemsOf({ argv: ['--config', 'a', '--no-config'] })).toEqual([
      'config (flag --config): expected either this or --no-config, not both',
    ]);
  });

  it('name a settings file that asks for no revision at all', async () => {
    expect(await problemsOf({ file: '{ "revision": [] }' })).toEqual([
      'revision (member "revision" of /etc/keyway/settings.jsonc): expected at least one revision',
    ]);
  });

  it('name each bad value of a repeatable setting, and panel folders that fit no mount or two', async () => {
    expect(
      await problemsOf({ argv: ['--trust-proxy', 'a', '--trust-proxy', '::1', '--trust-proxy', 'b'] }),
    ).toHaveLength(2);
    const argv = [
      '--revision',
      'dns@x',
      '--panel-dir',
      'dns@x=a',
      '--panel-dir',
      'dns@x=b',
      '--panel-dir',
      'current=c',
    ];
    expect(await problemsOf({ argv })).toEqual([
      'panel-dir (flag --panel-dir): expected one folder for dns@x, got several',
      'panel-dir (flag --panel-dir): expected one of the served revisions (dns@x) before the =, got "current"',
    ]);
  });

  it('never show a secret, wherever it was written', async () => {
    const secret = 'hunter2\u0007';
    const everywhere: readonly Given[] = [
      { argv: ['--token', secret] },
      { argv: [`--password-hash=${secret}`] },
      { argv: ['--tokne', secret] },
      { argv: [`--tokne=${secret}`] },
      { argv: [`--${secret}`] },
      { argv: ['--token', 'my', secret] },
      { argv: ['--', secret] },
      { argv: [`-p${secret}`] },
      { environment: { KEYWAY_TOKEN: secret } },
      { environment: { KEYWAY_PASSWORD_HASH: secret } },
      { file: JSON.stringify({ token: [secret] }) },
      { file: JSON.stringify({ password_hash: secret }) },
      { file: JSON.stringify({ tokne: secret }) },
    ];
    for (const given of everywhere) {
      const problems = await problemsOf(given);
      expect(problems, JSON.stringify(given)).not.toEqual([]);
      expect(problems.join('\n')).not.toContain('hunter2');
    }
  });

  it.each([
    ['--upstream', 'http://admin:hunter2@host:9090', 'http://…@host:9090'],
    ['--upstream', 'http://admin:hunter2/1@host:9090', 'http://…@host:9090'],
    ['--upstream', 'http://admin:1#hunter2@host:9090/x', 'http://…@host:9090/x'],
    ['--upstream', 'admin:hunter2@host:9090', '…@host:9090'],
    ['--webhook', 'https://user:p?hunter2@host/x', 'https://…@host/x'],
    ['--panel-server', 'home=https://user:hunter2@1@host/api', 'home=https://…@host/api'],
    ['--revision', '0.2.48@a:b', '0.2.48@a:b'],
  ])('%s shows no password of %s', async (flag, text, shown) => {
    const [problem] = await problemsOf({ argv: [flag, text] });
    expect(problem).toContain(`got ${JSON.stringify(shown)}`);
  });
});

describe('any combination of sources', () => {
  const flags = SETTING_NAMES.flatMap((name) => [SETTINGS[name].flag, SETTINGS[name].negation?.flag ?? []].flat());
  const text = fc.oneof(
    fc.constantFrom('', 'true', 'off', '1', '5/5', 'current', 'dns@x', '127.0.0.1:0', '::1', './a', 'info', '?a', '--'),
    fc.string(),
  );
  const argument = fc.oneof(
    fc.constantFrom(...flags).map((flag) => `--${flag}`),
    fc.tuple(fc.constantFrom(...flags), text).map(([flag, value]) => `--${flag}=${value}`),
    text,
  );
  const environment = fc.dictionary(fc.constantFrom(...flags.map(variableOf)), text, { maxKeys: 4 });
  const file = fc.option(
    fc.oneof(
      fc.json(),
      fc.dictionary(fc.constantFrom(...flags.map(memberOf)), fc.jsonValue()).map((v) => JSON.stringify(v)),
    ),
  );

  it('gives settings or problems with a text each, and never throws', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(argument, { maxLength: 6 }), environment, file, async (argv, variables, settings) => {
        const answer = await read({ argv, environment: variables, ...(settings === null ? {} : { file: settings }) });
        if (answer.ok) {
          const ofHome: readonly string[] = HOME_SETTINGS;
          const others = SETTING_NAMES.filter((name) => !ofHome.includes(name));
          expect(Object.keys(answer.settings).sort()).toEqual([...others, 'home'].sort());
          expect(answer.settings.revision.length).toBeGreaterThan(0);
        } else {
          expect(answer.problems.length).toBeGreaterThan(0);
          for (const problem of answer.problems) expect(problemText(problem)).toMatch(/\S: .+/);
        }
      }),
      { numRuns: WHOLE ? 500 : 150 },
    );
  });
});

describe('suggest', () => {
  it('finds the word that was meant, and nothing for a word far from all', () => {
    expect(suggest('bnid', ['bind', 'token'])).toBe('bind');
    expect(suggest('server-prot', ['server-port', 'server-host'])).toBe('server-port');
    expect(suggest('zzzzzzzz', ['bind', 'token'])).toBeUndefined();
    expect(suggest('x'.repeat(1_000_000), ['bind'])).toBeUndefined();
  });
});

describe('the feed', () => {
  it('on a port needs a token, on a Unix socket it needs none', async () => {
    expect(await problemsOf({ argv: ['--feed-bind', '127.0.0.1:9091'] })).toEqual([
      'feed-bind (flag --feed-bind): expected --feed-token with it: only a Unix socket needs none',
    ]);
    expect(await settingsOf({ argv: ['--feed-bind', '127.0.0.1:9091', '--feed-token', 't'] })).toMatchObject({
      feedBind: '127.0.0.1:9091',
      feedToken: 't',
    });
    expect(await settingsOf({ argv: ['--feed-bind', 'unix:feed.sock'] })).toMatchObject({
      feedBind: 'unix:/srv/keyway/feed.sock',
      feedToken: null,
      opsBind: null,
    });
  });
});

describe('a certificate', () => {
  const both = ['--tls-cert', 'cert.pem', '--tls-key', 'key.pem'];

  it('and its key stand together', async () => {
    expect(await settingsOf({ argv: both })).toMatchObject({
      tlsCert: '/srv/keyway/cert.pem',
      tlsKey: '/srv/keyway/key.pem',
    });
    expect(await problemsOf({ argv: both.slice(0, 2) })).toEqual([
      'tls-cert (flag --tls-cert): expected --tls-key with it',
    ]);
    expect(await problemsOf({ environment: { KEYWAY_TLS_KEY: 'key.pem' } })).toEqual([
      'tls-key (environment variable KEYWAY_TLS_KEY): expected --tls-cert with it',
    ]);
  });

  it('needs an address with a port, of the API or of the subscriptions', async () => {
    const socket = [...both, '--bind', 'unix:api.sock'];
    expect(await problemsOf({ argv: socket })).toEqual([
      'tls-cert (flag --tls-cert): expected an address as host:port to serve it on: Unix sockets have no TLS',
    ]);
    expect(await problemsOf({ argv: [...socket, '--subscription-bind', '0.0.0.0:8443'] })).toEqual([]);
  });
});
