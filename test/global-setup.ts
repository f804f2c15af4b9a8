import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';
import { type Binaries, type Postgres, postgresBinaries, postgresOnPath, startPostgres } from '../bench/postgres.js';
import { buildIfOlder, buildPanelIfOlder } from './building.js';
import { createPortGiver } from './free-ports.js';
import { createTemplate, dropTemplate, type SharedPostgres } from './homes/database/template.js';
import { keepTemporaryFilesInMemory } from './memory-folder.js';
import { bundledChromium, type Chromium } from './panel/browser/chromium.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where test files ask for what they share (test/shared.ts). */
    readonly shared: string;
    /** Whether there is a PostgreSQL for those that need one. */
    readonly hasPostgres: boolean;
    /** The version of the PostgreSQL that stands on this machine's path; null where none does. */
    readonly installedPostgres: string | null;
  }
}

/** What the test files of a run share. Only the panel is always looked after; the rest is made when the first of them asks. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const removeTemporaryFiles = await keepTemporaryFilesInMemory();
  await buildPanelIfOlder();
  const browser = createUnpackedBrowser();
  const givePort = inTurn(await createPortGiver());
  const postgres = await createSharedPostgres(givePort);
  const installed = await createInstalledPostgres(givePort);
  const wanted: Readonly<Record<string, () => Promise<unknown>>> = {
    '/browser': browser.get,
    '/build': inTurn(buildIfOlder),
    '/postgres': postgres.get,
    '/installed-postgres': installed.get,
    '/port': givePort,
  };
  const server = createServer((request, response) => {
    const make = wanted[request.url ?? ''] ?? (() => Promise.reject(new Error(`nothing is shared at ${request.url}`)));
    make().then(
      (made) => answer(response, 200, made ?? null),
      (error: unknown) => answer(response, 500, error instanceof Error ? error.message : String(error)),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // It listens on TCP.
  project.provide('shared', `http://127.0.0.1:${port}`);
  project.provide('hasPostgres', postgres.isThere);
  project.provide('installedPostgres', installed.version);
  return async () => {
    server.close();
    server.closeAllConnections();
    await browser.close();
    await postgres.close();
    await installed.close();
    await removeTemporaryFiles();
  };
}

function answer(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

/** One call after another: whoever asks while the sources are being built finds them built. */
function inTurn<T>(act: () => Promise<T>): () => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return () => {
    const turn = last.then(act, act);
    last = turn;
    return turn;
  };
}

/** The browser that each process of the run starts for itself. */
function createUnpackedBrowser() {
  let unpacked: Promise<Chromium> | null = null;
  return {
    async get() {
      unpacked ??= bundledChromium();
      return (await unpacked).options;
    },
    async close() {
      await (await unpacked?.catch(() => null))?.remove();
    },
  };
}

/** One PostgreSQL for the run, started when the first test asks; each test has a database of its own in it. */
async function createSharedPostgres(givePort: () => Promise<number>) {
  const given = process.env.KEYWAY_TEST_DATABASE_URL;
  if (given === undefined) {
    const binaries = await postgresBinaries();
    return { ...startedOnce(binaries, givePort, ['fsync=off']), isThere: binaries !== null };
  }
  let template: Promise<SharedPostgres> | null = null;
  return {
    isThere: true,
    get() {
      template ??= createTemplate(given);
      return template;
    },
    async close() {
      const made = await template?.catch(() => null);
      if (made != null) await dropTemplate(made);
    },
  };
}

/** The one of this machine's path, with what PostgreSQL comes with: it may be older, and compiles what it thinks expensive. */
async function createInstalledPostgres(givePort: () => Promise<number>) {
  const installed = await postgresOnPath();
  return { ...startedOnce(installed, givePort, ['fsync=off', 'jit=on']), version: installed?.version ?? null };
}

function startedOnce(binaries: Binaries | null, givePort: () => Promise<number>, settings: readonly string[]) {
  let started: Promise<Postgres> | null = null;
  let template: Promise<SharedPostgres> | null = null;
  return {
    async get() {
      if (binaries === null) throw new Error('there is no such PostgreSQL for this platform');
      started ??= givePort().then((port) => startPostgres(binaries, settings, { port }));
      template ??= started.then((server) => createTemplate(server.url()));
      return template;
    },
    async close() {
      await (await started?.catch(() => null))?.remove();
    },
  };
}
