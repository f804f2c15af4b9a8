import { execFile } from 'node:child_process';
import { chmod, mkdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { commandWord, listWord, serviceUnit } from '../../../src/commands/service/unit.js';
import { folderForTest } from '../../folder-for-test.js';
import { isInstalled } from '../../installed.js';
import { runHere } from '../context.js';

const run = promisify(execFile);
/** Ten times the exposure level that a unit for Keyway may have at most, as systemd-analyze counts it. */
const THRESHOLD = '25';

let folder = '';
beforeEach(async () => {
  folder = await folderForTest();
});

const print = (...argv: readonly string[]) => runHere(['install-service', '--print', ...argv], { folder });

/** The values of a directive, in order; a line that ends in a backslash goes on. */
function valuesOf(unit: string, directive: string): readonly string[] {
  const lines = unit.replaceAll(' \\\n', ' ').split('\n');
  return lines.flatMap((line) => (line.startsWith(`${directive}=`) ? [line.slice(directive.length + 1)] : []));
}

/** Words as systemd.syntax(7) parts them, with its escapes and specifiers taken back. */
function wordsOf(text: string): readonly string[] {
  const words = [...text.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)];
  return words.map(([, quoted, plain]) => (plain ?? (quoted ?? '').replaceAll(/\\(.)/g, '$1')).replaceAll('%%', '%'));
}

function commandOf(unit: string): readonly string[] {
  return wordsOf(valuesOf(unit, 'ExecStart')[0] ?? '').map((word) => word.replaceAll('$$', '$'));
}

describe('keyway install-service --print', () => {
  it('prints a unit whose command line holds the flags, with paths from the root on', async () => {
    const argv = ['--user', 'tunnel', '--config', 'server.jsonc', '--revision', '0.2.31', '--revision=current@new'];
    const more = ['--bind', 'unix:api.sock', '--panel-dir', 'current@new=panel', '--in-place', '--settings', 's.jsonc'];
    await writeFile(join(folder, 's.jsonc'), '{}');
    const { output, code } = await print(...argv, ...more);
    expect(code).toBe(0);
    expect(commandOf(output)).toEqual([
      '/usr/bin/node',
      '/usr/lib/keyway/cli.js',
      'serve',
      `--config=${folder}/server.jsonc`,
      `--settings=${folder}/s.jsonc`,
      '--revision=0.2.31',
      '--revision=current@new',
      `--bind=unix:${folder}/api.sock`,
      `--panel-dir=current@new=${folder}/panel`,
      '--in-place',
    ]);
    expect(valuesOf(output, 'User')).toEqual(['tunnel']);
    expect(valuesOf(output, 'ReadWritePaths')).toEqual([folder]);
  });

  it('without --print says that it prints only, and prints nothing', async () => {
    const { code, output, complaints } = await runHere(['install-service', '--user', 'tunnel'], { folder });
    expect({ code, output }).toEqual({ code: 2, output: '' });
    expect(complaints).toContain('expected --print: the unit is printed, and nothing is installed');
  });

  it('without --user makes a user of its own, whose file has to be in /var/lib/keyway', async () => {
    const unit = (await print('--config', '/var/lib/keyway/keyway.jsonc')).output;
    expect(valuesOf(unit, 'DynamicUser')).toEqual(['yes']);
    expect(valuesOf(unit, 'StateDirectory')).toEqual(['keyway']);
    expect(valuesOf(unit, 'ReadWritePaths')).toEqual([]);
    const { code, output, complaints } = await print('--config', '/etc/tunnel/server.jsonc');
    expect({ code, output }).toEqual({ code: 2, output: '' });
    expect(complaints).toContain('user (flag --user): expected the owner of /etc/tunnel: without --user');
  });

  it('has the folders of sockets made where they stand in /run, and takes none in /run itself', async () => {
    const argv = ['--no-config', '--bind', 'unix:/run/keyway/api.sock'];
    const { output } = await print(...argv);
    expect(valuesOf(output, 'RuntimeDirectory')).toEqual(['keyway']);
    expect(valuesOf(output, 'DynamicUser')).toEqual(['yes']);
    for (const user of [[], ['--user', 'tunnel']]) {
      const { code, complaints } = await print(...user, '--no-config', '--bind', 'unix:/run/keyway.sock');
      expect(code).toBe(2);
      expect(complaints).toContain('expected sockets in a folder of their own, such as /run/keyway');
    }
    expect((await print('--user', 'root', '--no-config', '--bind', 'unix:/run/keyway.sock')).code).toBe(0);
  });

  it('refuses tokens, hashes and what is no user, and shows none of them', async () => {
    const secrets = ['--token', 'sesame-1', '--feed-token', 'sesame-2', '--password-hash', '0'.repeat(64)];
    const { code, output, complaints } = await print('--user', 'sesame 3', ...secrets);
    expect({ code, output }).toEqual({ code: 2, output: '' });
    for (const flag of ['token', 'feed-token', 'password-hash']) expect(complaints).toContain(`flag --${flag}`);
    expect(complaints).toContain("user (flag --user): expected a user's name or number");
    expect(complaints).not.toMatch(/sesame|000000/);
  });

  it('reports wrong settings and control characters as serve would', async () => {
    const wrong = await print('--user', 'tunnel', '--bind', 'nowhere', '--revision', '9.9.9x', 'word');
    expect(wrong.code).toBe(2);
    for (const words of ['bind (flag --bind)', 'revision (flag --revision)', 'expected flags only'])
      expect(wrong.complaints).toContain(words);
    const strange = await print('--user', 'tunnel', '--config', '/etc/a\nExecStart=/bin/sh');
    expect(strange).toMatchObject({ code: 2, output: '' });
    expect(strange.complaints).toContain('expected no control characters');
  });

  it.each([
    ['a flag', ['--bind', '127.0.0.1:443'], '{}', true],
    ['the listener of the file', [], '{"api": {"bind": "0.0.0.0:80"}}', true],
    ['the DNS server of the file', ['--bind', '127.0.0.1:9090'], '{"dns": {"enabled": true, "local_port": 53}}', true],
    ['a DNS server that is off', ['--bind', '127.0.0.1:9090'], '{"dns": {"local_port": 53}}', false],
    [
      'a DNS server that --no-resolver keeps off',
      ['--bind', '127.0.0.1:9090', '--no-resolver'],
      '{"dns": {"enabled": true, "local_port": 53}}',
      false,
    ],
    ['a port that the system chooses', ['--bind', '127.0.0.1:0'], '{}', false],
  ])('lets it use ports below 1024 only where one is named: %s', async (_case, argv, text, needed) => {
    await writeFile(join(folder, 'server.jsonc'), text);
    const { output } = await print('--user', 'tunnel', '--config', 'server.jsonc', ...argv);
    expect(valuesOf(output, 'CapabilityBoundingSet')).toEqual([needed ? 'CAP_NET_BIND_SERVICE' : '']);
    expect(valuesOf(output, 'PrivateUsers')).toEqual(needed ? [] : ['yes']);
  });

  it('follows a link to the file, because the file that it leads to is replaced', async () => {
    await mkdir(join(folder, 'real'));
    await writeFile(join(folder, 'real/server.jsonc'), '{}');
    await symlink('real/server.jsonc', join(folder, 'server.jsonc'));
    const { output } = await print('--user', 'tunnel', '--config', 'server.jsonc');
    const paths = wordsOf(valuesOf(output, 'ReadWritePaths')[0] ?? '');
    expect(paths).toContain(join(folder, 'real'));
  });

  it('says which paths are in home folders, where the user may find no way to them', async () => {
    const { code, complaints } = await print('--no-config', '--panel-dir', '/home/ann/panel');
    expect(code).toBe(0);
    expect(complaints).toBe("/home/ann/panel is in a home folder: the service's user has to be able to reach it\n");
  });

  it('refuses a user that this machine does not have', async () => {
    const argv = ['install-service', '--print', '--user', 'nosuchuser', '--config', 'server.jsonc'];
    const { code, output, complaints } = await runHere(argv, { folder, users: { nosuchuser: null } });
    expect({ code, output }).toEqual({ code: 2, output: '' });
    expect(complaints).toContain('user (flag --user): there is no user nosuchuser on this machine');
  });

  it('says which folder is closed to the user, and which one he cannot write, as root never is', async () => {
    await chmod(folder, 0o755);
    await mkdir(join(folder, 'root'), { mode: 0o700 });
    await writeFile(join(folder, 'server.jsonc'), '{}');
    const argv = ['install-service', '--print', '--config', 'server.jsonc', '--panel-dir', 'root/panel'];
    const { uid, gid } = await stat(folder);
    const users = {
      tunnel: { uid: uid + 1, groups: [gid + 1] },
      owner: { uid, groups: [gid] },
      root: { uid: 0, groups: [0] },
    };
    const said = async (user: string) => (await runHere([...argv, '--user', user], { folder, users })).complaints;
    expect(await said('tunnel')).toBe(
      `${folder}/root/panel cannot be reached by user tunnel: ${folder}/root is closed to others
${folder} cannot be written by user tunnel, and every change replaces the file in it: chown tunnel ${folder}
`,
    );
    expect(await said('owner')).toBe('');
    expect(await said('root')).toBe('');
  });

  it('says of a Keyway in a closed folder where it should be instead', async () => {
    await chmod(folder, 0o700);
    const program = ['/usr/bin/node', join(folder, 'cli.js')] as const;
    const { complaints } = await runHere(['install-service', '--print', '--no-config'], { folder, program });
    expect(complaints).toContain(`${folder}/cli.js cannot be reached by the service's user: ${folder} is closed`);
    expect(complaints).toContain('such as /opt/keyway');
  });

  it('says which variables of the shell the service will not have', async () => {
    const environment = { KEYWAY_BIND: '127.0.0.1:1', KEYWAY_TOKEN: 'sesame' };
    const argv = ['install-service', '--print', '--no-config'];
    const { output, complaints } = await runHere(argv, { folder, environment });
    expect(complaints).toBe('not in the unit, because only this shell has them: KEYWAY_BIND, KEYWAY_TOKEN\n');
    expect(output).not.toContain('127.0.0.1:1');
  });
});

describe('words of a unit', () => {
  const text = fc.string({ unit: fc.constantFrom(...'ab/ "\'\\%$;#=é{}'), minLength: 1 });

  it('come back as they were, whatever is quoted or escaped in them', () => {
    fc.assert(
      fc.property(fc.array(text), (words) => {
        expect(wordsOf(words.map(listWord).join(' '))).toEqual(words);
        expect(wordsOf(words.map(commandWord).join(' ')).map((word) => word.replaceAll('$$', '$'))).toEqual(words);
      }),
    );
  });
});

const facts = {
  version: '1.2.3',
  commandLine: ['/usr/bin/env', 'node', '/srv/my "files" 100% $HOME \\ é/cli.js', 'serve', '--config=/srv/a b/c.jsonc'],
  user: 'daemon',
  writable: ['/srv/a b', '/run/keyway', '/srv/100% "quoted"'],
  readable: [],
  needsLowPort: false,
};

describe('a unit', () => {
  it('keeps home folders and temporary files away unless something of it is there', () => {
    const plain = serviceUnit(facts);
    expect([valuesOf(plain, 'ProtectHome'), valuesOf(plain, 'PrivateTmp')]).toEqual([['yes'], ['yes']]);
    const home = serviceUnit({ ...facts, readable: ['/home/ann/panel', '/tmp/x'] });
    expect([valuesOf(home, 'ProtectHome'), valuesOf(home, 'PrivateTmp')]).toEqual([['read-only'], []]);
    expect(valuesOf(serviceUnit({ ...facts, readable: ['/homeless', '/tmpfs'] }), 'ProtectHome')).toEqual(['yes']);
  });

  it('has folders directly in /run made for it', () => {
    expect(valuesOf(serviceUnit(facts), 'RuntimeDirectory')).toEqual(['keyway']);
    expect(wordsOf(valuesOf(serviceUnit(facts), 'ReadWritePaths')[0] ?? '')).toEqual([
      '/srv/a b',
      '/srv/100% "quoted"',
    ]);
  });

  describe.skipIf(!isInstalled('systemd-analyze', 'whether systemd takes the unit, and how exposed it finds it'))(
    'in the eyes of systemd',
    () => {
      it.each([
        ['with a user of the machine and awkward paths', facts],
        ['with a user of its own', { ...facts, user: null, writable: ['/var/lib/keyway'] }],
        ['with a port below 1024', { ...facts, needsLowPort: true }],
      ])('%s it is sound, and exposed no more than the threshold allows', async (_case, its) => {
        const path = join(folder, 'keyway.service');
        await writeFile(path, `${serviceUnit(its)}\n`);
        const { stdout, stderr } = await run('systemd-analyze', ['verify', path]);
        expect(stdout + stderr).toBe('');
        await run('systemd-analyze', ['security', '--offline=true', `--threshold=${THRESHOLD}`, path]);
      });

      it('a directive that systemd does not know would be found', async () => {
        const path = join(folder, 'keyway.service');
        await writeFile(path, serviceUnit(facts).replace('UMask', 'UMsak'));
        const { stderr } = await run('systemd-analyze', ['verify', path]);
        expect(stderr).toContain('UMsak');
      });
    },
  );
});
