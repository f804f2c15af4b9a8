import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { COMMANDS } from '../../src/commands/commands.js';
import { LOG_LEVELS } from '../../src/platform/log-levels.js';
import { buildIfOlder } from '../build.js';
import { CLI } from '../clone.js';
import { isInstalled } from '../installed.js';
import { runHere } from './context.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

const run = promisify(execFile);
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keyway-completion-'));
  for (const shell of SHELLS) await writeFile(scriptOf(shell), (await runHere(['completion', shell])).output);
  await writeFile(join(folder, 'server file.jsonc'), '{}');
  await buildIfOlder();
  await writeFile(join(folder, 'keyway'), `#!/bin/sh\nexec '${process.execPath}' '${CLI}' "$@"\n`);
  await chmod(join(folder, 'keyway'), 0o755);
});
afterAll(() => rm(folder, { recursive: true }));

/** The environment of a shell in which `keyway` is this clone's. */
const environment = () => ({ ...process.env, PATH: `${folder}:${process.env.PATH}` });
const scriptOf = (shell: Shell) => join(folder, `keyway.${shell}`);
const commandsThatBegin = (start: string) => COMMANDS.map(({ name }) => name).filter((name) => name.startsWith(start));
const secondWords = (family: string) => commandsThatBegin(`${family} `).map((name) => name.slice(family.length + 1));
const ids = REVISIONS.map(({ id }) => id);

/** Typed so far, the last word being completed, and exactly what is offered for it. */
const LINES: readonly (readonly [typed: string, offered: readonly string[]])[] = [
  ['keyway s', commandsThatBegin('s')],
  ['keyway config ', secondWords('config')],
  ['keyway config con', ['convert']],
  ['keyway help counters ', secondWords('counters')],
  ['keyway serve --login', ['--login-guard']],
  ['keyway serve --revision ', ids],
  ['keyway openapi --revision 0.2.3', ids.filter((id) => id.startsWith('0.2.3'))],
  ['keyway start --log-level ', LOG_LEVELS],
  ['keyway replay --reporter ', ['text', 'json', 'junit', 'github']],
  ['keyway config convert --layout ', ['inbounds', 'access_keys']],
  ['keyway serve --config serv', ['server file.jsonc']],
  ['keyway config check serv', ['server file.jsonc']],
  ['keyway completion ', SHELLS],
  ['keyway hash-password --', ['--for', '--help']],
  ['keyway serve --token ', []],
];

/** What Keyway itself answers to the scripts, less the summaries. */
async function offers(words: readonly string[]): Promise<readonly string[]> {
  const { output } = await runHere(['__complete', ...words]);
  return linesOf(output).map((line) => line.split('\t')[0] ?? '');
}

/** One line of each kind: a shell asks in the same way for all of a kind. */
const ONE_OF_EACH = LINES.filter(([typed]) =>
  [
    'keyway config con',
    'keyway serve --login',
    'keyway openapi --revision 0.2.3',
    'keyway serve --config serv',
    'keyway serve --token ',
  ].includes(typed),
);

/** Runs the completion function as readline would and prints what it leaves in COMPREPLY. */
async function bashOffers(typed: string): Promise<readonly string[]> {
  const steps = [
    'source "$1"',
    'read -r -a COMP_WORDS <<< "$2"',
    'if [[ $2 == *" " ]]; then COMP_WORDS+=(""); fi',
    'COMP_CWORD=$(($' + '{#COMP_WORDS[@]} - 1))',
    'complete -p keyway > /dev/null && _keyway',
    'printf "%s\\n" "$' + '{COMPREPLY[@]}"',
  ];
  const options = ['--norc', '--noprofile', '-c', steps.join('\n'), 'bash', scriptOf('bash'), typed];
  return linesOf((await run('bash', options, { cwd: folder, env: environment() })).stdout);
}

async function fishOffers(typed: string): Promise<readonly string[]> {
  const command = 'source $argv[1]; complete -C $argv[2]';
  const env = { ...environment(), HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder };
  const options = ['--no-config', '-c', command, scriptOf('fish'), typed];
  const { stdout } = await run('fish', options, { cwd: folder, env });
  return linesOf(stdout).map((line) => line.split('\t')[0] ?? '');
}

/** Types each line into one interactive zsh, and reads the lists that it shows below them. */
async function zshOffers(lines: readonly string[]): Promise<readonly string[]> {
  const driver = `
    zmodload zsh/zpty
    zpty -b shell zsh -f -i
    until-seen() { local piece all=''; while [[ $all != *$1* ]]; do zpty -r shell piece && all+=$piece; done; print -r -- $all }
    zpty -w shell "PS1=''; TERM=dumb; autoload -U compinit; compinit -u -D; source '$1'"
    zpty -w shell "bindkey '^I' list-choices; bindkey -s '^O' ' #DONE'"
    zpty -w shell "stty columns 400; LISTMAX=1000; print REA''DY"
    until-seen READY > /dev/null
    shift
    for typed; do
      zpty -n -w shell "$typed"$'\\t\\x0f'
      until-seen '#DONE'
      print -n '\\0'
      zpty -n -w shell $'\\x15'
    done
    zpty -d shell`;
  const { stdout } = await run('zsh', ['-f', '-c', driver, 'zsh', scriptOf('zsh'), ...lines], {
    cwd: folder,
    env: environment(),
  });
  return stdout.split('\0');
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '');
}

describe('keyway completion', () => {
  it.each(LINES)('"%s" gets what may stand there', async (typed, offered) => {
    const expected = offered.includes('server file.jsonc') ? [':paths'] : offered;
    expect((await offers(typed.split(' ').slice(1))).toSorted()).toEqual(expected.toSorted());
  });

  it('every command and every flag of the tables is offered, with a summary of each command', async () => {
    for (const { name, summary, load } of COMMANDS) {
      const words = name.split(' ');
      expect(await offers(words)).toEqual(words.slice(-1));
      const { output } = await runHere(['__complete', ...words]);
      expect(output).toContain(`\t${summary}`);
      const flags = (await load()).flags.map(({ flag }) => `--${flag}`);
      expect((await offers([...words, '--'])).toSorted(), name).toEqual([...flags, '--help'].toSorted());
    }
  });

  it('a value after = is offered, whether the shell parts the word or not', async () => {
    expect(await offers(['serve', '--log-level=w'])).toEqual(['--log-level=warn']);
    expect(await offers(['serve', '--log-level', '=', 'w'])).toEqual(['warn']);
    expect(await offers(['serve', '--log-level', '='])).toEqual(LOG_LEVELS);
    expect(await offers(['serve', '--config', '=', 'x'])).toEqual([':paths']);
  });

  it('the help text of every command lists each flag of its table', async () => {
    for (const { name, load } of COMMANDS) {
      const { flags, help } = await load();
      const listed = [...help().matchAll(/(?:^ {2}|, )--([a-z][a-z-]+)/gm)].map(([, flag]) => flag);
      const same = help().includes('As "keyway serve", with the same flags');
      for (const { flag } of same ? [] : flags) expect(listed, name).toContain(flag);
    }
  });

  it('without a shell, with two or with another one is exit code 2 and lists the shells', async () => {
    for (const words of [[], ['tcsh'], ['bash', 'zsh'], ['constructor']]) {
      const { code, complaints } = await runHere(['completion', ...words]);
      expect(code).toBe(2);
      expect(complaints).toContain('expected one shell: bash, zsh, fish');
    }
  });

  it('no word of the tables holds a character that a shell takes for its own', async () => {
    const commands = await Promise.all(COMMANDS.map(({ load }) => load()));
    const offered = commands.flatMap(({ flags, words }) => [words, ...flags.map((flag) => flag.offered)].flat());
    for (const word of offered) expect(word ?? '').toMatch(/^[\w.-]*$/);
  });

  describe.skipIf(!isInstalled('bash', 'what bash completes'))('in bash', () => {
    it.each(ONE_OF_EACH)('"%s" is completed', async (typed, offered) => {
      expect((await bashOffers(typed)).toSorted()).toEqual(offered.toSorted());
    });

    it('a value after = is completed, which bash takes for a word of its own', async () => {
      expect(await bashOffers('keyway serve --log-level = w')).toEqual(['warn']);
    });
  });

  describe.skipIf(!isInstalled('fish', 'what fish completes'))('in fish', () => {
    it.each(ONE_OF_EACH)('"%s" is completed', async (typed, offered) => {
      expect((await fishOffers(typed)).toSorted()).toEqual(offered.toSorted());
    });
  });

  describe.skipIf(!isInstalled('zsh', 'what zsh completes'))('in zsh', () => {
    it('each of the same lines is completed', async () => {
      const shown = await zshOffers(ONE_OF_EACH.map(([typed]) => typed));
      for (const [index, [typed, offered]] of ONE_OF_EACH.entries()) {
        // What is typed comes back as well: its letters are not what is looked for.
        const listed = (shown[index] ?? '').replaceAll(typed, '');
        for (const word of offered) expect(listed, typed).toContain(word.slice(0, 6));
      }
    });
  });
});
