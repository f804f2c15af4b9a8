import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Download, Page } from 'playwright-core';
import type { GatewayOptions } from '../../../src/index.js';
import { ROOT } from '../../clone.js';
import { freePort } from '../../free-ports.js';
import { COUNTERS, PASSWORD, SERVER_FILE, TOKEN } from '../server-files.js';
import { serveAxe } from './axe.js';
import { type OpenOptions, openEmpty } from './contexts.js';

/** A gateway on loopback with a file of its own. */
export interface Stage {
  readonly origin: string;
  /** Where the first mount's panel stands, with its slash. */
  readonly panel: string;
  /** Its API root. */
  readonly api: string;
  readonly app: Awaited<ReturnType<typeof import('../../../src/index.js').createGateway>>;
  /** Calls the API with the static token. */
  call(method: string, path: string, body?: unknown): Promise<unknown>;
  /** Calls Keyway's own interface with it. */
  own(method: string, path: string, body?: unknown): Promise<unknown>;
  fileText(): Promise<string>;
  /** Writes the file by hand, as an editor does. */
  writeFile(text: string): Promise<void>;
  close(): Promise<void>;
}

export async function startStage(
  revision: string,
  { file = SERVER_FILE, counters = COUNTERS, port, ...options }: StageOptions = {},
): Promise<Stage> {
  const { createGateway } = await import('../../../src/index.js');
  const folder = await mkdtemp(join(tmpdir(), 'keyway-panel-'));
  const configPath = join(folder, 'server.jsonc');
  await writeFile(configPath, file);
  const app = await createGateway({ mounts: [{ revision }], configPath, loginGuard: 'off', ...options });
  for (const [key, bytesUp, bytesDown, connections] of counters) {
    app.keyway.local?.keys.setCounters(key, { bytesUp, bytesDown, connections });
  }
  const origin = await listenForPages(app, port);
  const mount = app.keyway.mounts[0];
  if (mount === undefined) throw new Error('a gateway without a mount');
  const api = `${origin}${mount.api}`;
  return {
    origin,
    panel: `${origin}${mount.base}/`,
    api,
    app,
    call: (method, path, body) => call(api, method, path, body),
    own: (method, path, body) => call(`${origin}${mount.base}/keyway/v1`, method, path, body),
    fileText: () => readFile(configPath, 'utf8'),
    writeFile: (text) => writeFile(configPath, text),
    close: async () => {
      await app.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** What a stage can be given: the file and counters to begin with, and whatever a gateway takes. */
export interface StageOptions extends Partial<GatewayOptions> {
  readonly file?: string;
  readonly counters?: typeof COUNTERS;
  readonly port?: number;
}

/** The port of the pages of this process, and whether a gateway listens there. */
const own = { port: 0, isTaken: false };

/**
 * Has a gateway listen on loopback, with axe beside its pages. Where no port is given it is the same for all tests of this process, one after the
 * other: at an address that it knows, a browser fetches and compiles no script again.
 */
export async function listenForPages(app: Stage['app'], port?: number): Promise<string> {
  serveAxe(app);
  if (port !== undefined || own.isTaken) return app.listen({ host: '127.0.0.1', port: port ?? 0 });
  own.isTaken = true;
  app.addHook('onClose', async () => {
    own.isTaken = false;
  });
  own.port ||= await freePort();
  return app.listen({ host: '127.0.0.1', port: own.port });
}

async function call(api: string, method: string, path: string, body: unknown): Promise<unknown> {
  const response = await fetch(api + path, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const envelope: unknown = await response.json();
  return typeof envelope === 'object' && envelope !== null && 'data' in envelope ? envelope.data : envelope;
}

/** A page that notes what it should not have: script errors, console errors, requests to elsewhere. */
export interface Watched {
  readonly page: Page;
  /** Fails where the page complained, or asked a server that it was not told of. */
  expectClean(): void;
  /** Closes the page, and the tabs that were opened beside it. */
  close(): Promise<void>;
}

/** What a browser itself writes when an answer has a status from 400 on; the page's doing is what it does then. */
const NETWORK_NOTE = /^Failed to load resource: the server responded with a status of 4\d\d/;

export async function openPage(
  url: string,
  { allowed = [], expected = /^$/, stored = {}, ...options }: PageOptions = {},
): Promise<Watched> {
  const { page, close } = await openEmpty(new URL(url).origin, options);
  page.setDefaultTimeout(30_000);
  const complaints: string[] = [];
  const origins = new Set([new URL(url).origin, ...allowed]);
  page.on('pageerror', (error) => complaints.push(`script: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error' && !NETWORK_NOTE.test(message.text()) && !expected.test(message.text())) {
      complaints.push(`console: ${message.text()}`);
    }
  });
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (protocol !== 'blob:' && !origins.has(origin)) complaints.push(`request: ${request.url()}`);
  });
  // Only as the page is opened: a reload or a sign-out must find what the page itself has stored.
  const storing = await page.addInitScript((entries) => {
    for (const [name, value] of Object.entries(entries)) sessionStorage.setItem(name, value);
  }, stored);
  await page.goto(url);
  await storing.dispose();
  return {
    page,
    expectClean() {
      if (complaints.length > 0) throw new Error(complaints.join('\n'));
    },
    close,
  };
}

export interface PageOptions extends OpenOptions {
  /** Origins besides the page's own that it may call. */
  readonly allowed?: readonly string[];
  /** Console errors that the test provokes. */
  readonly expected?: RegExp;
  /** Entries of the tab's storage that the page finds when it is opened. */
  readonly stored?: Readonly<Record<string, string>>;
}

/** Signs in without a page. Resolves with what the panel would have stored, had the password been typed into it. */
export async function storedSession({ api }: Pick<Stage, 'api'>): Promise<Readonly<Record<string, string>>> {
  const answer = await call(api, 'POST', '/login', { username: 'admin', password: PASSWORD });
  const { token } = answer as { readonly token: string }; // The server file has this password.
  return { [`keyway:credential:${api}`]: JSON.stringify({ kind: 'session', value: token, stays: false }) };
}

export async function signIn(
  page: Page,
  password = PASSWORD,
  [username, secret, submit]: readonly [string, string, string] = ['Username', 'Password', 'Sign in'],
): Promise<void> {
  await page.getByLabel(username).fill('admin');
  await page.getByRole('textbox', { name: secret }).fill(password);
  await page.getByRole('button', { name: submit, exact: true }).click();
}

export async function goTo(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name }).click();
  await page.getByRole('heading', { level: 1, name }).waitFor();
}

/** Has the page ask the server again, as it does when its tab comes into sight. */
export async function refreshNow(page: Page): Promise<void> {
  await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))');
}

/** Stands the page's time still, for what is there only for some seconds of it. What it does frame by frame waits, too. */
export async function holdTime(page: Page): Promise<void> {
  await page.clock.pauseAt(Number(await page.evaluate('Date.now()')) + 10_000);
}

/**
 * Lets so many milliseconds of the page's time pass, and none of its timers with them: what it gives the server to answer is
 * not over by that, however slow this machine is.
 */
export async function letPass(page: Page, milliseconds: number): Promise<void> {
  await page.clock.setSystemTime(Number(await page.evaluate('Date.now()')) + milliseconds);
}

/** Has deletions and resets begin at once: their time to undo is nothing to wait for here. */
export async function hurry(page: Page): Promise<void> {
  await page.route('**/keys/batch?delay=5', (route) =>
    route.continue({ url: route.request().url().replace('delay=5', 'delay=0') }),
  );
}

/** Resizes the window. Resolves once the page has drawn itself anew for it: some of it has another form on a phone. */
export async function resize(page: Page, size: { readonly width: number; readonly height: number }): Promise<void> {
  await page.setViewportSize(size);
  await page.waitForFunction(`innerWidth === ${size.width} && innerHeight === ${size.height}`);
  // What listens for another width is called before the frame after that, and draws at once.
  await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
}

/** What the page gave to keep. */
export async function contentOf(download: Download): Promise<Buffer> {
  return buffer(await download.createReadStream());
}

/** True in CI, and where the run was started with `PICTURES=1`. */
export const takesPictures = process.env.PICTURES === '1' || process.env.CI !== undefined;

const PICTURES = join(ROOT, 'test-results/screenshots');
/** The pictures of the run before. */
export const BEFORE = join(PICTURES, 'before');

/** Writes a picture of the page for whoever wants to look, and keeps that of the run before. */
export async function picture(page: Page, name: string): Promise<void> {
  if (!takesPictures) return;
  const path = join(PICTURES, `${name}.png`);
  await mkdir(BEFORE, { recursive: true });
  await rename(path, join(BEFORE, `${name}.png`)).catch(() => undefined);
  await page.screenshot({ path });
}
