import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { operationsOf } from '../wire/operations.js';
import { capabilitiesOf, type Revision } from '../wire/traits/revision.js';
import { contentType, type PanelFile, type PanelFiles } from './panel-files.js';

/** The facts of a server that the panel of one mount is told. Nothing of it is secret: anyone who reaches the page reads it. */
export interface EmbeddedPanelOptions {
  readonly revision: Revision;
  /** The server package version that the mount stands for. */
  readonly version: string;
  /** Further servers that the panel may speak to (`--panel-server`). */
  readonly servers: readonly PanelServer[];
  /** Keyway's own version, shown beside the one that the mount stands for; null is not told. */
  readonly keyway: string | null;
  /** The address where subscriptions alone are served; null where clients get them from the API. */
  readonly subscriptions: SubscriptionAddress | null;
  /** Keyway's own interface is served beside the mount. */
  readonly ownApi: boolean;
  /** Tells whether the mount answers without a credential just now. */
  readonly isOpen: () => boolean;
}

/** A server that the panel may speak to. */
export interface PanelServer {
  /** Its API root, without a trailing slash. */
  readonly root: string;
  /** Its name in the panel; empty for its host and path. */
  readonly name: string;
}

export interface SubscriptionAddress {
  /** Null where it listens on every address: then it is the one that the panel was reached by. */
  readonly host: string | null;
  readonly port: number;
  readonly tls: boolean;
}

/** The place of the build as the sources see it, whose own `panel/` is no build, and then as the compiled code does. */
const FOLDERS = ['../../dist/panel/', '../../panel/'];
const INDEX = 'index.html';
const CONFIG = 'panel-config.json';

/**
 * The panel that comes with the package, kept in memory; a plain page where it was not built. Beside it stands
 * `panel-config.json`, made at each request: what the mount offers, whether it is open, and the other servers.
 */
export function embeddedPanel(options: EmbeddedPanelOptions): PanelFiles {
  const files = builtPanel();
  if (files === null) return plainPage(options.revision, options.version);
  const pageHeaders = headersFor(options.servers);
  return {
    async file(path) {
      if (path === CONFIG) return configFile(options, pageHeaders);
      const file = files.get(path);
      if (file === undefined) return null;
      return { ...file, headers: { ...pageHeaders, ...file.headers } };
    },
  };
}

function configFile(options: EmbeddedPanelOptions, headers: Headers): PanelFile {
  const { revision, servers, keyway, subscriptions, ownApi, isOpen } = options;
  const config = {
    offers: capabilitiesOf(revision),
    open: isOpen(),
    token: revision.auth.encode({ kind: 'token', secret: 'x' }) !== null,
    servers,
    keyway,
    subscriptions,
    ownApi,
  };
  return {
    content: Buffer.from(JSON.stringify(config)),
    contentType: 'application/json',
    headers: { ...headers, 'cache-control': 'no-store' },
  };
}

type Headers = Readonly<Record<string, string>>;

/** The policy lets the page load nothing and reach nobody but its own origin and the servers it was told of. */
function headersFor(servers: readonly PanelServer[]): Headers {
  const reachable = [...new Set(servers.map(({ root }) => new URL(root).origin))];
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    ["connect-src 'self'", ...reachable].join(' '),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    'content-security-policy': policy.join('; '),
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  };
}

/** Names with a hash never change their content. */
const FOREVER: Headers = { 'cache-control': 'public, max-age=31536000, immutable' };
const NEVER: Headers = { 'cache-control': 'no-cache' };

let built: ReadonlyMap<string, PanelFile> | null | undefined;

/** The files of the build by path, or null where there is none. Read once. */
function builtPanel(): ReadonlyMap<string, PanelFile> | null {
  if (built === undefined) {
    const folders = FOLDERS.map((folder) => fileURLToPath(new URL(folder, import.meta.url)));
    const folder = folders.find((candidate) => existsSync(join(candidate, INDEX)));
    built = folder === undefined ? null : readBuild(folder);
  }
  return built;
}

function readBuild(folder: string): ReadonlyMap<string, PanelFile> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(?:gz|br)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
  return new Map(
    names.map((name) => {
      const path = name.slice(folder.length).split(sep).join(posix.sep);
      return [
        path,
        {
          content: readFileSync(name),
          contentType: contentType(path),
          headers: path.startsWith('assets/') ? FOREVER : NEVER,
          compressed: { ...encoded(name, 'br', 'br'), ...encoded(name, 'gzip', 'gz') },
        },
      ] as const;
    }),
  );
}

function encoded(name: string, coding: 'br' | 'gzip', extension: string): PanelFile['compressed'] {
  const path = `${name}.${extension}`;
  return existsSync(path) ? { [coding]: readFileSync(path) } : {};
}

/** A page without scripts that says what is running and lists the API; it holds nothing that needs a credential. */
export const isPanelBuilt = (): boolean => builtPanel() !== null;

function plainPage(revision: Revision, version: string): PanelFiles {
  const rows = operationsOf(revision).map(
    ({ method, path, summary, access }) =>
      `<tr><td>${method}</td><td><code>api${path}</code></td><td>${summary}</td><td>${access}</td></tr>`,
  );
  const content = Buffer.from(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Keyway</title>
<meta name="viewport" content="width=device-width"><style>
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}td,th{text-align:left;padding:.2rem 1rem .2rem 0}
</style><h1>Keyway</h1><p>This address serves revision <b>${revision.id}</b> of the management API, as server version ${version}.
<p>The panel is not built: <code>npm run build</code> makes it.
<table><tr><th>Method<th>Path<th>What it does<th>Access</tr>${rows.join('\n')}</table></html>\n`,
  );
  return { file: async (path) => (path === 'index.html' ? { content, contentType: 'text/html' } : null) };
}
