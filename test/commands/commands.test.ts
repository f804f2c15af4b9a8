import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { COMMAND_GROUPS, COMMANDS } from '../../src/commands/commands.js';
import { isPbkdf2Password, sha256Hash } from '../../src/core/password.js';
import { buildIfOlder } from '../build.js';
import { CLI } from '../clone.js';
import { folderForTest } from '../folder-for-test.js';
import { someOf, WHOLE } from '../whole.js';
import { runHere } from './context.js';
import { runKeyway } from './process.js';

let folder = '';
beforeAll(buildIfOlder);
beforeEach(async () => {
  folder = await folderForTest();
});

const run = (argv: readonly string[], piped = '') => runHere(argv, { folder, piped });

describe('keyway', () => {
  it('--version prints the version of package.json, and the commit that was built where that is known', async () => {
    const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'));
    const printed = await runKeyway(['--version'], { folder });
    expect(printed).toMatchObject({ code: 0, complaints: '' });
    expect(printed.output).toMatch(/^\S+(?: \(commit [0-9a-f]{12,}(?:-dirty)?\))?\n$/);
    expect(printed.output.split(/[ \n]/)[0]).toBe(version);
    expect((await runHere(['--version'], { commit: 'c0ffee' })).output).toBe('0.0.0 (commit c0ffee)\n');
  });

  it.each(['-V', '-v', 'version'])('%s prints it, too', async (word) => {
    expect(await runHere([word])).toMatchObject({ code: 0, output: '0.0.0\n', complaints: '' });
  });

  it('--help shows commands under what they are for, every one once', async () => {
    const { output } = await runHere(['--help']);
    for (const { heading } of COMMAND_GROUPS) expect(output).toContain(`\n${heading}:\n`);
    for (const { name } of COMMANDS) expect(output.match(new RegExp(`^ {2}${name} {2}`, 'gm')), name).toHaveLength(1);
  });

  it('--help lists every command, and without arguments the same goes to standard error with exit code 2', async () => {
    const help = await runHere(['--help']);
    expect(help.code).toBe(0);
    for (const { name, summary } of COMMANDS) expect(help.output).toMatch(new RegExp(`^ {2}${name} +${summary}`, 'm'));
    expect(await runHere([])).toMatchObject({ code: 2, output: '', complaints: help.output });
  });

  it.each(COMMANDS.map(({ name }) => name))('%s prints its usage with --help and with help before it', async (name) => {
    const asked = await runHere([...name.split(' '), '--help']);
    expect(asked).toMatchObject({ code: 0, complaints: '' });
    expect(asked.output).toContain(`Usage: keyway ${name}`);
    expect((await runHere(['help', ...name.split(' ')])).output).toBe(asked.output);
  });

  it('an unknown command is exit code 2 with a suggestion', async () => {
    expect(await runHere(['sevre'])).toMatchObject({
      code: 2,
      output: '',
      complaints: 'there is no such command "sevre" (did you mean keyway serve?)\nSee: keyway --help\n',
    });
    const half = await runHere(['config', 'lst']);
    expect(half.code).toBe(2);
    expect(half.complaints).toContain('keyway config list');
  });

  it('a flag that a command does not have is exit code 2 and names its help', async () => {
    for (const command of ['serve', 'start', 'revisions', 'openapi', 'config list']) {
      const { code, complaints } = await runHere([...command.split(' '), '--frobnicate']);
      expect(code, command).toBe(2);
      expect(complaints).toContain('flag --frobnicate: there is no such flag');
      expect(complaints).toContain(`See: keyway ${command} --help`);
    }
  });
});

describe('keyway hash-password', () => {
  it('prints the lowercase SHA-256 of the one line of a pipe, with or without its line end', async () => {
    const hash = '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8\n';
    const printed = { code: 0, output: hash, complaints: '' };
    for (const input of ['password', 'password\r\n'])
      expect(await run(['hash-password'], input)).toMatchObject(printed);
    expect(await runKeyway(['hash-password'], { folder }, 'password\n')).toMatchObject(printed);
  });

  it('is PBKDF2 with a salt of its own for servers from 0.4.7 on, and for no others', async () => {
    const of = async (version: string) => (await run(['hash-password', '--for', version], 'password')).output.trim();
    expect(await of('0.4.6')).toBe(sha256Hash('password'));
    const [one, other] = [await of('0.4.7'), await of('0.4.7')];
    expect(one).toMatch(/^pbkdf2-sha256\$300000\$[0-9a-f]{32}\$[0-9a-f]{64}$/);
    expect(other).not.toBe(one);
    expect(await isPbkdf2Password('password', one)).toBe(true);
    expect(await run(['hash-password', '--for', 'someday'], 'password')).toMatchObject({
      code: 2,
      complaints: expect.stringContaining('--for: '),
    });
  });

  it('on a terminal asks twice, and hashes nothing when the two differ or it is broken off', async () => {
    const ask = (...secrets: (string | null)[]) => runHere(['hash-password'], { terminal: true, secrets });
    expect(await ask('password', 'password')).toMatchObject({ code: 0, output: `${sha256Hash('password')}\n` });
    expect(await ask('password', 'passwort')).toMatchObject({ code: 1, output: '' });
    expect(await ask('password', null)).toMatchObject({ code: 1, output: '' });
    expect(await ask('')).toMatchObject({ code: 1, output: '' });
  });

  it('refuses no password, several lines and a password on the command line', async () => {
    expect(await run(['hash-password'], '')).toMatchObject({ code: 1, output: '' });
    expect(await run(['hash-password'], 'a\nb\n')).toMatchObject({ code: 1, output: '' });
    const given = await run(['hash-password', 'hunter2']);
    expect(given).toMatchObject({ code: 2, output: '' });
    expect(given.complaints).not.toContain('hunter2');
  });
});

describe('keyway revisions and keyway openapi', () => {
  it('revisions prints a line for every record, --json the same for programs', async () => {
    const { output } = await runHere(['revisions']);
    expect(
      output
        .split('\n')
        .slice(1, -1)
        .map((line) => line.split(' ')[0]),
    ).toEqual(REVISIONS.map(({ id }) => id));
    const records = JSON.parse((await runHere(['revisions', '--json'])).output);
    expect(records.map((record: { id: string }) => record.id)).toEqual(REVISIONS.map(({ id }) => id));
  });

  it('revisions reads no settings but for --used, so that a broken settings file keeps no table from printing', async () => {
    const environment = { KEYWAY_SETTINGS: '/nowhere/settings.jsonc' };
    expect(await runHere(['revisions'], { environment })).toMatchObject({ code: 0 });
    expect(await runHere(['revisions', '--used'], { environment })).toMatchObject({ code: 2 });
  });

  it('revisions --evidence prints what each operation of each line rests on, --json the same for programs', async () => {
    if (WHOLE) {
      const { code, output } = await runHere(['revisions', '--evidence']);
      expect(code).toBe(0);
      expect(output).toMatch(/^getStatus +[FI][ \d]* +[FI][ \d]* +RS \d+ /m);
      expect(output).toMatch(/^1 .+ Keyway /m);
    }
    const { lines, evidence } = JSON.parse((await runHere(['revisions', '--evidence', '--json'])).output);
    expect(lines.map((line: { id: string }) => line.id)).toEqual(REVISIONS.map(({ id }) => id));
    expect(evidence).toContainEqual(
      expect.objectContaining({ operation: 'getStatus', line: 'earliest', grounds: ['recorded', 'spec'] }),
    );
    expect(evidence).toContainEqual(
      expect.objectContaining({ operation: 'getUser', line: '0.2.0', grounds: ['facts'], divergences: [] }),
    );
  });

  it.each(
    someOf(REVISIONS, 3).map(({ id }) => id),
  )('openapi --revision %s prints an OpenAPI 3.1 document', async (id) => {
    const { code, output } = await runHere(['openapi', '--revision', id]);
    expect(code).toBe(0);
    expect(JSON.parse(output)).toMatchObject({ openapi: expect.stringMatching(/^3\.1\./), paths: expect.anything() });
  });

  it('openapi without a revision, or with an unknown one, lists what there is', async () => {
    expect(await runHere(['openapi'])).toMatchObject({
      code: 2,
      complaints: expect.stringContaining('expected --revision R'),
    });
    const { code, complaints } = await runHere(['openapi', '--revision', '0.1.0']);
    expect(code).toBe(2);
    expect(complaints).toContain('expected earliest, dns, current, latest, or the version of a server, 0.2.0 or later');
  });
});

describe('keyway config list', () => {
  it('of a file without kept versions says so, as a table and as JSON', async () => {
    expect(await run(['config', 'list'])).toMatchObject({
      code: 0,
      output: `No versions of ${join(folder, 'keyway.jsonc')} are kept in ${join(folder, 'keyway.jsonc.keyway')}\n`,
    });
    expect(await run(['config', 'list', '--config', 'other.jsonc', '--json'])).toMatchObject({
      code: 0,
      output: '[]\n',
    });
  });

  it('with --no-config is a usage problem', async () => {
    expect(await run(['config', 'list', '--no-config'])).toMatchObject({ code: 2 });
  });
});

describe('keyway database', () => {
  const missing = 'expected --database or KEYWAY_DATABASE_URL\n';

  it.each([
    ['migrate', ['--nosuch'], `flag --nosuch: there is no such flag\n${missing}`],
    [
      'export',
      ['word', '--data-dir', ''],
      `data-dir (flag --data-dir): expected a path, got ""\n${missing}expected keyway database export, and flags\n`,
    ],
    ['import', ['--settings', 'none.json'], expect.stringMatching(/^settings [^\n]*none\.json: No such file[^\n]*\n$/)],
    [
      'import',
      ['--nosuch', '--database', 'none'],
      expect.stringMatching(/^flag --nosuch: [^\n]*\ndatabase \(flag[^\n]*\n$/),
    ],
  ])('%s %j says at once all that is wrong, and each once', async (command, argv, problems) => {
    const { code, complaints } = await runHere(['database', command, ...argv], { folder });
    const help = `See: keyway database ${command} --help\n`;
    expect(code).toBe(2);
    expect(complaints.endsWith(help)).toBe(true);
    expect(complaints.slice(0, -help.length)).toEqual(problems);
  });
});

describe('the built command', () => {
  it('is executable with its own first line', async () => {
    expect((await stat(CLI)).mode & 0o111).toBe(0o111);
    expect(await readFile(CLI, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
  });
});
