// The tables of what the package is made of: out of package.json, package-lock.json and the panel's imports. Each throws
// when a package is missing in PURPOSES, or stands there and is used no more.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { markdownTable } from '../dist/scripts/markdown-table.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const read = (path) => readFileSync(join(ROOT, path), 'utf8');

/** What each package is for that Keyway depends on by itself. */
const PURPOSES = {
  '@fastify/cors': 'What a preflight of another origin is granted.',
  fastify: 'HTTP: the API, subscriptions, the feed and the ops listener.',
  'fetch-socks': 'The connections of the DNS server through a SOCKS5 proxy.',
  'jsonc-parser': "Keyway's own settings file.",
  'lean-qr': 'QR codes in the panel.',
  'light-my-request': "Fastify's `inject`, named here so that the version which runs on Node 20 is installed.",
  mime: "Content types of the panel's files.",
  pg: 'The shared state in PostgreSQL.',
  pino: 'The log.',
  'pino-pretty': 'The log on a terminal.',
  preact: 'The pages of the panel.',
  'prom-client': 'The metrics of `--ops-bind`.',
  semver: 'Which revision a server package version speaks.',
  typebox: 'The shapes of bodies: their check, and the OpenAPI documents.',
  undici: 'HTTP of the DNS server: its upstream and the blocklists.',
  uqr: 'QR codes at the terminal and on the page of a user.',
};

/** The names of the packages that the panel's sources import, which its build takes in. */
function bundledInPanel() {
  const sources = readdirSync(join(ROOT, 'panel'), { recursive: true }).filter((path) => /\.tsx?$/.test(path));
  const imported = sources.flatMap((path) => [
    ...read(join('panel', path)).matchAll(/(?:from|import) '((?:@[^/']+\/)?[^./'][^/']*)(?:\/[^']*)?'/g),
  ]);
  return [...new Set(imported.map(([, name]) => name))].sort();
}

/** The package as it is locked; throws where its licence is not known. */
function locked(path, packages) {
  const { version, license } = packages[path] ?? {};
  if (version === undefined || license === undefined)
    throw new Error(`${path}: package-lock.json has no version or no licence of it`);
  return { name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length), version, license };
}

function rowOf(name, place, packages) {
  const { version, license } = locked(`node_modules/${name}`, packages);
  if (PURPOSES[name] === undefined)
    throw new Error(`${name}: scripts/dependency-tables.mjs does not say what it is for`);
  return [name, version, license, place, PURPOSES[name]];
}

/** What Keyway depends on by itself, and what that brings along, by licence. */
export function dependencyTables() {
  const own = Object.keys(JSON.parse(read('package.json')).dependencies);
  const { packages } = JSON.parse(read('package-lock.json'));
  const panel = bundledInPanel();
  const unused = Object.keys(PURPOSES).filter((name) => !own.includes(name) && !panel.includes(name));
  if (unused.length > 0) throw new Error(`scripts/dependency-tables.mjs names what is not used: ${unused.join(', ')}`);
  const direct = [
    ...own.map((name) => rowOf(name, 'installed with it', packages)),
    ...panel.map((name) => rowOf(name, 'part of the panel', packages)),
  ];
  const isOwn = (path) => own.some((name) => path === `node_modules/${name}`);
  const brought = Object.keys(packages)
    .filter((path) => path !== '' && packages[path].dev !== true && !isOwn(path))
    .map((path) => locked(path, packages));
  const licences = [...new Set(brought.map(({ license }) => license))].sort();
  const listOf = (licence) => brought.filter(({ license }) => license === licence).map(nameAndVersion);
  return {
    dependencies: markdownTable(['package', 'version', 'licence', 'where', 'what it is for'], direct),
    'brought-dependencies': markdownTable(
      ['licence', 'packages'],
      licences.map((licence) => [licence, listOf(licence).sort().join(', ')]),
    ),
  };
}

const nameAndVersion = ({ name, version }) => `${name} ${version}`;
