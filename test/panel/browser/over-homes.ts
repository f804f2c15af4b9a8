import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, onTestFinished } from 'vitest';
import type { GatewayOptions } from '../../../src/index.js';
import { describeDatabase, freshDatabase } from '../../homes/database/database.js';
import { folderForTest } from '../../serve/serve-here.js';
import { CREDENTIALS } from '../../stand-in/files.js';
import { LOSES_NOTHING, standInOf } from '../../stand-in/test-stand-in.js';
import { SERVER_FILE, TOKEN } from '../server-files.js';
import { expectAccessible } from './axe.js';
import { listenForPages, openPage, type PageOptions, storedSession } from './stage.js';

type Gateway = Awaited<ReturnType<typeof import('../../../src/index.js').createGateway>>;

/** A gateway that listens, signed in to in a page that must be clean at the end. */
export interface PanelStage {
  readonly page: Page;
  readonly app: Gateway;
  readonly origin: string;
  /** The first mount's base. */
  readonly base: string;
  /** The static token. */
  readonly token: string;
  /** Has axe look at the page, over a file alone: the page is the same over each home. */
  expectAccessible(): Promise<void>;
  /** Calls Keyway's own interface with the static token; resolves with `data`. */
  own(method: string, path: string, body?: unknown): Promise<unknown>;
}

type Test = (stage: PanelStage) => Promise<void>;

export interface OverOptions extends PageOptions {
  readonly gateway?: Partial<GatewayOptions>;
  /** Makes the token that is typed into the login; without it the page is given a session. */
  readonly token?: (own: PanelStage['own']) => Promise<string>;
}

const ANNOUNCED = { host: '203.0.113.7', port: 50_000 };

/** The places where keys stand, and what a gateway over them is given. */
const HOMES = {
  async file() {
    const configPath = join(await folderForTest(), 'server.jsonc');
    await writeFile(configPath, SERVER_FILE);
    return { configPath };
  },
  async database() {
    const { username } = CREDENTIALS;
    const passwordHash = '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8';
    const listener = { token: TOKEN, username, passwordHash, webpath: 'office/panel' };
    return { database: { url: await freshDatabase() }, listener };
  },
  async server() {
    const standIn = await standInOf('0.2.96', { reloadFactor: 0, ...LOSES_NOTHING });
    return { upstream: { url: `${standIn.origin}/panel`, token: CREDENTIALS.token }, dataDir: await folderForTest() };
  },
} satisfies Record<string, () => Promise<Partial<GatewayOptions>>>;

type Home = keyof typeof HOMES;

/** Declares tests in the browser, by default over a file, a database and a running server: what is the page's own doing is the same over each. */
export function overHomes(
  declare: (withPanel: (test: Test, options?: OverOptions) => Promise<void>) => void,
  homes: readonly Home[] = ['file', 'database', 'server'],
): void {
  for (const home of homes) {
    const described = home === 'database' ? describeDatabase : describe;
    described(`over a ${home}`, () => declare((test, options = {}) => runOver(home, test, options)));
  }
}

async function runOver(home: Home, test: Test, { gateway, token, ...options }: OverOptions): Promise<void> {
  const { createGateway } = await import('../../../src/index.js');
  const mounts = [{ revision: 'current' }];
  const app = await createGateway({
    mounts,
    loginGuard: 'off',
    announced: ANNOUNCED,
    ...(await HOMES[home]()),
    ...gateway,
  });
  onTestFinished(() => app.close());
  const origin = await listenForPages(app);
  const base = `${origin}${app.keyway.mounts[0]?.base}`;
  const own = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${base}/keyway/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return ((await response.json()) as { readonly data?: unknown }).data; // An envelope.
  };
  const stored = token === undefined ? await storedSession({ api: `${base}/api` }) : {};
  const watched = await openPage(`${base}/`, { stored, ...options });
  const { page } = watched;
  onTestFinished(watched.close);
  if (token !== undefined) await signInByToken(page, await token(own));
  await page.getByRole('heading', { level: 1 }).waitFor();
  const audit = () => (home === 'file' ? expectAccessible(page) : Promise.resolve());
  await test({ page, expectAccessible: audit, app, origin, base, token: TOKEN, own });
  watched.expectClean();
}

async function signInByToken(page: Page, token: string): Promise<void> {
  await page.getByRole('button', { name: 'Token', exact: true }).click();
  await page.getByRole('textbox', { name: 'API token' }).fill(token);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}
