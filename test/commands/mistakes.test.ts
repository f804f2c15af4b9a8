import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { baseUrl } from '../../src/commands/replay/settings.js';
import { createFileSystem } from '../../src/platform/file-system.js';
import { ROOT } from '../clone.js';
import { folderForTest } from '../folder-for-test.js';
import { serveHere } from '../serve/serve-here.js';
import { runHere } from './context.js';

let folder = '';
beforeEach(async () => {
  folder = await folderForTest();
  await copyFile(join(ROOT, 'fixtures/samples/server.jsonc'), join(folder, 'server.jsonc'));
});

/** What a command line that is wrong says: on standard error, or in the log of one that serves. */
async function says(line: string, environment: Readonly<Record<string, string>> = {}) {
  const argv = line.split(' ');
  if (argv[0] !== 'serve') {
    const { code, complaints } = await runHere(argv, { folder, environment });
    return { code, words: complaints };
  }
  const served = await serveHere(argv, { folder, environment });
  const { code, complaints } = await served.ended;
  return { code, words: complaints + (await served.log()).map(({ msg }) => msg).join('\n') };
}

/** The command, its exit code, what is said of it, and what is not. */
type Row = readonly [line: string, code: number, words: string, never?: string];

describe('a mistake that is often typed', () => {
  const mistakes: readonly Row[] = [
    ['serve --revision curent', 2, 'got "curent" (did you mean current?)'],
    ['serve --revision earlist@old', 2, '(did you mean earliest?)'],
    ['openapi --revision curent', 2, '(did you mean current?)'],
    ['serve --log-level worn', 2, 'got "worn" (did you mean warn?)'],
    ['serve --port 9000', 2, 'flag --port: there is no such flag (did you mean --bind?)'],
    ['serve -p 9000', 2, '(did you mean --bind?)'],
    ['serve -c server.jsonc', 2, 'flag -c: there is no such flag (did you mean --config?)'],
    ['keys list --upstream http://127.0.0.1:9', 2, 'flag --upstream: there is no such flag (did you mean --target?)'],
    ['serve --config server.jsonc --bind 127.0.0.1:99999', 2, 'got "127.0.0.1:99999": a port is at most 65535'],
    ['serve --config server.jsonc --bind 9000', 2, 'got "9000": with a host, as 127.0.0.1:9000'],
    [
      'keys remove guest --config server.jsonc',
      1,
      'there is no key "guest", and none with that name (did you mean "guest-2026"?)',
    ],
    ['keys link gest-2026 --config server.jsonc', 1, '(did you mean "guest-2026"?)'],
    ['serve —bind 127.0.0.1:9000', 2, '—bind is no flag, its dash is no hyphen: --bind with two', 'to no flag'],
    ['serve --revision 0.2', 2, '(did you mean 0.2.87 or 0.2.83 or 0.2.50?)', '0.2.25–'],
    ['serve --revision 0.2.48,current@new', 2, 'got "0.2.48,current@new": give it once for each'],
    [
      'serve --config server.jsonc --bind *:24001',
      2,
      'got "*:24001": all addresses are 0.0.0.0:24001 or [::]:24001',
      'ENOTFOUND',
    ],
    ['serve --token=Bearer\u00a0t', 2, 'the word Bearer does not belong to it'],
    [
      'serve --upstream http://127.0.0.1:9 --upstream-token=Bearer\u00a0t',
      2,
      'the word Bearer does not belong to it',
      'the one that it has',
    ],
    ['serve --upstream http://127.0.0.1:9 --upstream-token=\u00a0t', 2, 'signs of ASCII, without blanks'],
    ['serve --token=my\u00a0token', 2, 'without blanks (the value is not shown)', 'my'],
    ['serve --config none.jsonc --log-requests no', 1, 'none.jsonc', 'expected one of'],
    ['serve --config none.jsonc --log-requests yes', 1, 'none.jsonc', 'expected one of'],
    ['serve --token=токен', 2, 'expected a token that a header can carry'],
    ['openapi current --feed', 2, 'expected --revision R'],
    ['serve --config none.jsonc --token=', 1, "flag --token: empty, and counts as not given: the file's"],
    ['serve --config none.jsonc --webpath=', 1, 'flag --webpath: empty, and counts as not given'],
    ['serve --config none.jsonc --revision latest', 1, 'none.jsonc', 'expected one of'],
    ['serve --log-requests sometimes', 2, 'expected one of changes, all, none'],
    ['serve --config “server.jsonc”', 2, 'its quotes are part of it', 'no configuration file'],
    ['serve --no-log-requests', 2, '(did you mean --log-requests?)'],
    ['serve --config server.jsonc --revision 0.2.35 --revision 0.2.34', 1, 'as --revision 0.2.35@old'],
    ['usage', 1, 'there is no configuration file', 'No use'],
    ['token list', 1, 'there is no configuration file'],
    ['counters export --config none.jsonc', 1, 'there are no counters'],
    ['restore server.jsonc', 1, 'server.jsonc is no backup that "keyway backup" wrote'],
    [
      'serve --config server.jsonc --bind 203.0.113.9:9000',
      1,
      '(EADDRNOTAVAIL): 203.0.113.9 is no address of this machine',
    ],
  ];
  it.each(
    mistakes.map(([line, code, words, never = '    at ']) => ({ line, code, words, never })),
  )('$line is exit code $code, and says what is nearest', async ({ line, code, words, never }) => {
    const said = await says(line);
    expect(said).toEqual({ code, words: expect.stringContaining(words) });
    expect(said.words).not.toContain(never);
  });

  it.each([
    ['access_keys', '"a key"'],
    ['access_keys', '{ "a": 1 }'],
    ['inbounds', '{ "protocol": "ostp" }'],
  ])('a file whose %s is %s does not start with no keys', async (member, value) => {
    const text = `{ "mode": "server", "${member}": ${value} }`;
    await writeFile(join(folder, 'server.jsonc'), text);
    for (const line of ['serve --config server.jsonc --bind 127.0.0.1:0 --token t', 'keys list --config server.jsonc'])
      expect(await says(line)).toEqual({
        code: 1,
        words: expect.stringContaining(`server.jsonc cannot be read: ${member}: expected an array`),
      });
    expect(await readFile(join(folder, 'server.jsonc'), 'utf8')).toBe(text);
  });

  it('a second key of a name is made, and said', async () => {
    const add = () => runHere(['keys', 'add', 'Bob', '--config', 'server.jsonc'], { folder });
    expect(await add()).toMatchObject({ code: 0, complaints: '' });
    expect(await add()).toMatchObject({
      code: 0,
      complaints: '2 keys are named Bob now: commands tell them apart by the key\n',
    });
  });

  it('a revision as a word is taken as one that a flag names', async () => {
    const { code, output } = await runHere(['openapi', 'current'], { folder });
    expect([code, JSON.parse(output).openapi]).toEqual([0, '3.1.0']);
  });

  it('a full disk is said with the file and where its file system is mounted', async () => {
    const fileSystem = createFileSystem();
    const full = async () => Promise.reject(Object.assign(new Error('ENOSPC: no space'), { code: 'ENOSPC' }));
    const path = join(folder, 'server.jsonc');
    const before = await readFile(path);
    const { code, complaints } = await runHere(['set-password', '--config', 'server.jsonc'], {
      folder,
      terminal: true,
      secrets: ['a new one', 'a new one'],
      fileSystem: {
        ...fileSystem,
        createSynced: (path, ...how) =>
          path.endsWith('.tmp') && !path.includes('.keyway/') ? full() : fileSystem.createSynced(path, ...how),
      },
    });
    expect(code).toBe(1);
    expect(complaints).toContain(`${path} cannot be written: No space left on device (ENOSPC)`);
    expect(await readFile(path)).toEqual(before);
  });

  it.each([
    ['an address with /api behind it', 'http://127.0.0.1:9090/panel/api', '/panel'],
    ['one with a slash behind that', 'http://127.0.0.1:9090/panel/api/', '/panel'],
    ['a web path that is called api', 'http://127.0.0.1:9090/api', '/api'],
  ])('%s is taken for --target as for --upstream', (_case, url, webpath) => {
    expect(baseUrl(url)).toEqual({ origin: 'http://127.0.0.1:9090', webpath });
  });

  it('a settings file of 10,000 levels is said to be nested too deep, and where', async () => {
    await writeFile(join(folder, 'settings.json'), `{ "bind": ${'['.repeat(10_000)}${']'.repeat(10_000)} }`);
    expect(await says('serve --settings settings.json')).toEqual({
      code: 2,
      words: expect.stringContaining('settings.json: line 1, column 522: nested deeper than 512 levels'),
    });
  });

  it.each([
    'backup state.jsonl --config server.jsonc',
    'counters export --config server.jsonc',
  ])('a data folder that may not be read is said by %s with whose it should be', async (command) => {
    const data = join(folder, 'server.jsonc.keyway');
    await writeFile(join(folder, 'server.jsonc'), '{ "mode": "server", "access_keys": [] }');
    await mkdir(data);
    const fileSystem = createFileSystem();
    const refuse = (path: string) => {
      if (path.startsWith(`${data}/`)) throw Object.assign(new Error('EACCES'), { code: 'EACCES', path });
    };
    const read = async (path: string, limit: number) => {
      refuse(path);
      return fileSystem.read(path, limit);
    };
    const list = async (path: string) => {
      refuse(`${path}/`);
      return fileSystem.list(path);
    };
    const ended = await runHere(command.split(' '), { folder, fileSystem: { ...fileSystem, read, list } });
    expect(ended.complaints).toContain(`chown -R ${process.getuid?.()} ${data}`);
    expect(ended.complaints).not.toContain('--data-dir');
  });

  it('a file that may not be read is what is said, and not its data folder', async () => {
    const refused = Object.assign(new Error('EACCES'), { code: 'EACCES' });
    const fileSystem = createFileSystem();
    const refuse = async () => Promise.reject(refused);
    // As for a user who may neither read the file nor write beside it.
    const { code, complaints } = await runHere(['keys', 'list', '--config', 'server.jsonc'], {
      folder,
      fileSystem: {
        ...fileSystem,
        open: refuse,
        read: refuse,
        create: refuse,
        createSynced: refuse,
        makeFolder: refuse,
      },
    });
    expect(code).toBe(1);
    expect(complaints).toContain('The configuration file');
    expect(complaints).toContain('server.jsonc cannot be read: Permission denied (EACCES)');
  });
});

describe('a variable that is no setting', () => {
  const warned = async (environment: Readonly<Record<string, string>>) =>
    (await runHere(['keys', 'list', '--config', 'server.jsonc'], { folder, environment })).complaints;

  it('is named in a warning where a setting is near, and ends nothing', async () => {
    expect(await warned({ KEYWAY_CONFG: 'x', KEYWAY_REVISON: 'dns' })).toBe(
      `environment variable KEYWAY_CONFG: there is no such setting (did you mean KEYWAY_CONFIG?)
environment variable KEYWAY_REVISON: there is no such setting (did you mean KEYWAY_REVISION?)
`,
    );
    const environment = { KEYWAY_LOGLEVEL: 'debug' };
    const served = await serveHere(['serve', '--config', 'server.jsonc', '--bind', '127.0.0.1:0'], {
      folder,
      environment,
    });
    await served.url;
    expect(await served.log()).toContainEqual(
      expect.objectContaining({ level: 'warn', msg: expect.stringContaining('(did you mean KEYWAY_LOG_LEVEL?)') }),
    );
  });

  it('is passed over where none is near, where an orchestrator sets it for a service of this name, and for a credential', async () => {
    const environment = {
      KEYWAY_PORT: 'tcp://10.0.0.1:9090',
      KEYWAY_PORT_9090_TCP_ADDR: '10.0.0.1',
      KEYWAY_SERVICE_HOST: '10.0.0.1',
      KEYWAY_SERVICE_PORT: '9090',
      KEYWAY_SERVICE_PORT_API: '9090',
      KEYWAY_IMAGE_TAG: '1',
      KEYWAY_USERNAME: 'admin',
      KEYWAY_PASSWORD: 'password',
    };
    expect(await warned(environment)).toBe('');
  });
});
