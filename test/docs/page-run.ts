import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { CLI, ROOT } from '../clone.js';
import { freePorts } from '../free-ports.js';
import { otherUser, type User } from '../other-user.js';
import { type Block, blocksOf, commandsOf } from './markdown.js';

const run = promisify(execFile);

/** Commands that go on until they are stopped; such a one stands in a block of its own. */
const LASTING = /^(?:npm start|(?:npx )?keyway (?:serve|start|record))\b/;
/** What such a command prints once it can be used. */
const READY = /"url":"|Recording http/;
/** Ports that a page names, of this machine. */
const ADDRESS = /\b(127\.0\.0\.1|0\.0\.0\.0|localhost):(\d{4,5})\b/g;

/** One page's shell: a folder of its own, in which its blocks run one after another. */
export interface PageRun {
  /** Runs a block to its end, or until it can be used. Rejects with what was printed when that fails. */
  run(block: Block): Promise<void>;
  close(): Promise<void>;
}

interface Lasting {
  readonly child: ChildProcess;
  readonly command: string;
  readonly address: string;
  readonly ended: Promise<void>;
}

const SAMPLE = join(ROOT, 'fixtures/samples/server.jsonc');
/** The port of the DNS server in a configuration file. */
const DNS_PORT = /"local_port": (\d+)/;

/** A user without rights, who owns no file here. */
const NOBODY: User = { uid: 65534, gid: 65534 };

/**
 * A folder, with blanks and letters beyond ASCII in its path, with the sample as `server.jsonc`, and `keyway` on the path. The ports that the page
 * names become free ones, and a program whose first line is a comment with its name becomes a file; a lasting command ends where the page says so, and at the end. A page that begins in a clone gets
 * one, without what `npm ci` would bring; `fill` puts more into the folder.
 */
export async function startPage(
  markdown: string,
  fill: (folder: string) => Promise<void> = async () => undefined,
): Promise<PageRun> {
  const named = [...new Set(['9090', ...[...markdown.matchAll(ADDRESS)].map(([, , port = '']) => port)])];
  const free = await freePorts(named.length);
  const portOf = new Map(named.map((port, index) => [port, String(free[index])]));
  const withPort = (text: string) => text.replace(DNS_PORT, (all, port) => all.replace(port, portOf.get(port) ?? port));
  const folder = await mkdtemp(join(tmpdir(), 'keyway döcs папка '));
  const isClone = markdown.includes('cp fixtures/samples/');
  // Whoever owns this clone.
  const uploadPack = ['--upload-pack', 'git -c safe.directory=* upload-pack'];
  if (isClone) await run('git', ['clone', '--quiet', '--depth', '1', ...uploadPack, `file://${ROOT}`, folder]);
  else await writeFile(join(folder, 'server.jsonc'), withPort(await readFile(SAMPLE, 'utf8')));
  await writeFile(join(folder, '.environment'), '');
  for (const { language, text } of blocksOf(markdown)) {
    const [, name] = /^\/\/ ([\w.-]+)$/m.exec(text.split('\n')[0] ?? '') ?? [];
    if (language === 'js' && name !== undefined) await writeFile(join(folder, name), `${text}\n`);
  }
  await fill(folder);
  const bin = join(folder, 'node_modules/.bin');
  if (!existsSync(bin)) {
    await mkdir(bin, { recursive: true });
    await symlink(CLI, join(bin, 'keyway'));
  }
  const user = await otherUser(NOBODY, [CLI]);
  if (user !== null) await run('chown', ['-Rh', `${user.uid}:${user.gid}`, folder]);
  const uid = user?.uid ?? process.getuid?.() ?? 'this user';
  process.stdout.write(`runs as ${uid} on Node ${process.version} in ${folder}\n`);
  const inherited = Object.entries(process.env).filter(([name]) => !/^(?:KEYWAY_|npm_)/i.test(name));
  const env = {
    ...Object.fromEntries(inherited),
    HOME: folder,
    PATH: [bin, process.env.PATH].join(delimiter),
    KEYWAY_BIND: `127.0.0.1:${portOf.get('9090')}`,
    KEYWAY_NO_RESOLVER: 'true',
  };
  const lasting: Lasting[] = [];
  const localised = (text: string) => text.replaceAll(ADDRESS, (_, host, port) => `${host}:${portOf.get(port)}`);
  const start = (script: string) =>
    spawn('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder, env, detached: true, ...(user ?? {}) });

  async function stop(each: Lasting): Promise<void> {
    lasting.splice(lasting.indexOf(each), 1);
    // As a terminal does: npm and npx have the command as a child.
    const { pid, exitCode } = each.child;
    if (pid !== undefined && exitCode === null) process.kill(-pid, 'SIGTERM');
    await each.ended;
  }

  async function startLasting(command: string): Promise<void> {
    const address = /--(?:bind|listen) (\S+)/.exec(command)?.[1] ?? '';
    const other = lasting.find((each) => each.address === address);
    if (other !== undefined)
      throw new Error(`${command}: ${other.command} goes on there; does the page say that it ends?`);
    const child = start(`. ./.environment\nexec ${command}`);
    const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
    lasting.push({ child, command, address, ended });
    let printed = '';
    await new Promise<void>((resolve, reject) => {
      const look = (piece: unknown) => {
        printed += String(piece);
        if (READY.test(printed)) resolve();
      };
      child.stdout.on('data', look);
      child.stderr.on('data', look);
      child.once('close', (code) => reject(new Error(`${command} ended with ${code}:\n${printed}`)));
    });
  }

  async function runToEnd(text: string): Promise<void> {
    const child = start(`set -a\n. ./.environment\n${text}\nexport -p > ./.environment`);
    let printed = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (piece) => {
        printed += String(piece);
      });
    }
    child.stdin.end();
    const code = await new Promise((resolve) => child.once('close', resolve));
    if (code !== 0) throw new Error(`ended with ${code}:\n${text}\n${printed}`);
  }

  return {
    async run({ text, line, ends }) {
      for (const each of lasting.filter(({ command }) => ends !== null && command.startsWith(ends))) await stop(each);
      const commands = commandsOf(text);
      const last = commands.filter((command) => LASTING.test(command));
      if (last.length === 0) return runToEnd(localised(text));
      if (commands.length > 1) throw new Error(`line ${line}: ${last[0]} goes on and needs a block of its own`);
      return startLasting(localised(commands[0] ?? ''));
    },
    async close() {
      for (const each of [...lasting]) await stop(each);
      await rm(folder, { recursive: true });
    },
  };
}
