import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ROOT } from '../clone.js';
import { CERTIFICATE, PRIVATE_KEY } from '../dns/certificate.js';
import { freePort } from '../free-ports.js';

/** A proxy server whose documented configuration is tested. */
export interface ProxyKind {
  readonly name: string;
  /** Null where it is not installed. */
  readonly program: string | null;
  /** Starts it over the documented files, before this gateway. */
  start(program: string, folder: string, gateway: ProxiedGateway): Promise<StartedProxy>;
}

/** Where the gateway listens. */
export interface ProxiedGateway {
  /** The API's socket. */
  readonly socket: string;
  /** The feed's `host:port`. */
  readonly feed: string;
}

export interface StartedProxy {
  readonly port: number;
  /** What it has said so far. */
  output(): string;
  stop(): Promise<void>;
}

/** The program by this name, where systems put it, or where the variable says. */
function programOf(name: string, variable: string): string | null {
  const places = [process.env[variable] ?? '', name, `/usr/sbin/${name}`];
  return (
    places.find((place) => place !== '' && spawnSync(place, ['-h'], { stdio: 'ignore' }).error === undefined) ?? null
  );
}

/** The documented file with other places in it. Every one that is replaced must occur. */
async function documented(file: string, places: Readonly<Record<string, string>>): Promise<string> {
  const text = await readFile(join(ROOT, 'docs/proxy', file), 'utf8');
  return Object.entries(places).reduce((changed, [from, to]) => {
    if (!changed.includes(from)) throw new Error(`docs/proxy/${file} has no ${from}`);
    return changed.replaceAll(from, to);
  }, text);
}

async function started(program: string, argv: readonly string[], folder: string, port: number): Promise<StartedProxy> {
  const child: ChildProcess = spawn(program, argv, { cwd: folder, env: { ...process.env, HOME: folder } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  for (let attempt = 0; !(await listens(port)); attempt += 1) {
    if (child.exitCode !== null || attempt > 300) throw new Error(`${program} does not listen:\n${output}`);
    await pause(100);
  }
  return {
    port,
    output: () => output,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

async function writeCertificate(folder: string): Promise<{ readonly cert: string; readonly key: string }> {
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  await writeFile(cert, CERTIFICATE);
  await writeFile(key, PRIVATE_KEY);
  return { cert, key };
}

const nginx: ProxyKind = {
  name: 'nginx',
  program: programOf('nginx', 'KEYWAY_TEST_NGINX'),
  async start(program, folder, { socket, feed }) {
    const port = await freePort();
    const { cert, key } = await writeCertificate(folder);
    const feedLocation = await documented('nginx-feed.conf', { '127.0.0.1:9091;': `${feed};` });
    const site = await documented('nginx.conf', {
      '  location / {': `${feedLocation}\n  location / {`,
      'listen 443 ssl': `listen 127.0.0.1:${port} ssl`,
      '/etc/ssl/panel.example.org/fullchain.pem': cert,
      '/etc/ssl/panel.example.org/privkey.pem': key,
      '/run/keyway/api.sock': socket,
    });
    await writeFile(join(folder, 'site.conf'), site);
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
    await mkdir(join(folder, 'temporary'));
    const frame = [
      'daemon off;',
      `pid ${folder}/nginx.pid;`,
      'error_log stderr warn;',
      // Its workers would be another user, who may not enter the test's folder.
      ...(process.getuid?.() === 0 ? ['user root;'] : []),
      'events { worker_connections 256; }',
      'http {',
      `access_log ${folder}/access.log;`,
      ...temporary.map((name) => `${name}_temp_path ${folder}/temporary/${name};`),
      `include ${folder}/site.conf;`,
      '}',
    ];
    await writeFile(join(folder, 'nginx.conf'), frame.join('\n'));
    return started(program, ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'], folder, port);
  },
};

const caddy: ProxyKind = {
  name: 'Caddy',
  program: programOf('caddy', 'KEYWAY_TEST_CADDY'),
  async start(program, folder, { socket, feed }) {
    const port = await freePort();
    const { cert, key } = await writeCertificate(folder);
    const feedHandle = await documented('Caddyfile-feed', { 'reverse_proxy 127.0.0.1:9091': `reverse_proxy ${feed}` });
    const site = await documented('Caddyfile', {
      '\thandle {': `${feedHandle}\n\thandle {`,
      'panel.example.org {': `https://127.0.0.1:${port} {\n\ttls ${cert} ${key}\n`,
      '/run/keyway/api.sock': socket,
    });
    // No certificates of its own, and nothing else to listen on.
    await writeFile(
      join(folder, 'Caddyfile'),
      `{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n}\n\n${site}`,
    );
    return started(program, ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'], folder, port);
  },
};

export const PROXIES: readonly ProxyKind[] = [nginx, caddy];
