import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { operationsOf } from '../wire/operations.js';
import { capabilitiesOf, type Revision } from '../wire/traits/revision.js';
import { contentType, type PanelFile, type PanelFiles } from './panel-files.js';

/** Facts about a server for the panel of one mount. None of them is secret: anyone who reaches the page reads them. */
export interface EmbeddedPanelOptions {
  readonly revision: Revision;
  /** The version of the server package whose API the mount serves. */
  readonly version: string;
  /** Further servers that the panel may talk to (`--panel-server`). */
  readonly servers: readonly PanelServer[];
  /** Keyway's own version, shown next to `version`; null hides it. */
  readonly keyway: string | null;
  /** The address that serves only subscriptions; null if clients get them from the API. */
  readonly subscriptions: SubscriptionAddress | null;
  /** True if Keyway's own interface is served next to the mount. */
  readonly ownApi: boolean;
  /** Tells whether the mount answers without a credential at present. */
  readonly isOpen: () => boolean;
}

/** A server that the panel may talk to. */
export interface PanelServer {
  /** Its API root, without a trailing slash. */
  readonly root: string;
  /** Its name in the panel; if empty, the panel shows its host and path. */
  readonly name: string;
}

export interface SubscriptionAddress {
  /** Null if it listens on every address; the panel then uses the host that it was loaded from. */
  readonly host: string | null;
  readonly port: number;
  readonly tls: boolean;
}

/** The folder of the build as seen from the sources, whose `panel/` is no build, and from the compiled code. */
const FOLDERS = ['../../dist/panel/', '../../panel/'];
const INDEX = 'index.html';
const CONFIG = 'panel-config.json';

/**
 * Serves the panel that comes with the package, from memory, or a plain page if it was not built. Next to it is
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

/**
 * Returns the page's headers. Their policy lets it load from, and connect to, only its own origin and the servers it
 * was given.
 */
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

/** For names that contain a hash: their content never changes. */
const FOREVER: Headers = { 'cache-control': 'public, max-age=31536000, immutable' };
const NEVER: Headers = { 'cache-control': 'no-cache' };

let built: ReadonlyMap<string, PanelFile> | null | undefined;

/** Returns the files of the build by path, read once; null without a build. */
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

/** Tells whether the panel has been built. */
export const isPanelBuilt = (): boolean => builtPanel() !== null;

/** Serves a page without scripts that says what is running and lists the API; it needs no credential. */
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
