import type { Browser, BrowserContext, BrowserContextOptions, CDPSession, Page } from 'playwright-core';
import { browserOfProcess } from '../../shared.js';

/** Options of a page; those that only a whole context can have are shared by all pages that have the same. */
export interface OpenOptions extends BrowserContextOptions {
  /** Whether the page's time can be put forward. */
  readonly clock?: boolean;
}

/** A page, and what ends it with all that it stored and the tabs beside it. */
export interface OpenedPage {
  readonly page: Page;
  close(): Promise<void>;
}

interface Kept {
  readonly context: BrowserContext;
  /** The page that is never closed: Chromium would end the process with the last one. */
  readonly first: Page;
  readonly storage: CDPSession;
}

const VIEWPORT = { width: 1280, height: 800 };

/**
 * Keeps a context for all pages of this process that may share one. Their pages are in one process of the browser after the other's end,
 * which saves a third of what it takes to open one: a new process reads and compiles every script anew.
 */
class Contexts {
  readonly #browser: Browser;
  readonly #kept = new Map<string, Promise<Kept>>();

  constructor(browser: Browser) {
    this.#browser = browser;
  }

  /** Opens an empty page for tests at `origin`, of which the context remembers nothing. */
  async open(
    origin: string,
    {
      clock = false,
      viewport = VIEWPORT,
      colorScheme = 'light',
      reducedMotion = 'no-preference',
      permissions = [],
      ...rest
    }: OpenOptions,
  ): Promise<OpenedPage> {
    // The time is put forward in a whole context.
    const name = JSON.stringify({ clock, ...rest });
    const making = this.#kept.get(name) ?? this.#keep(rest);
    this.#kept.set(name, making);
    const { context, first, storage } = await making;
    await context.grantPermissions(permissions, { origin });
    if (clock) {
      // The page before may have left it standing, or in another year.
      await context.clock.resume();
      await context.clock.install({ time: Date.now() });
    }
    const page = await context.newPage();
    if (viewport !== null && viewport !== VIEWPORT) await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme, reducedMotion });
    return {
      page,
      async close() {
        for (const each of context.pages()) if (each !== first) await each.close();
        await context.clearPermissions();
        // Another gateway may be given the same port.
        await storage.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' });
      },
    };
  }

  async #keep(options: BrowserContextOptions): Promise<Kept> {
    const context = await this.#browser.newContext({ viewport: VIEWPORT, ...options });
    const first = await context.newPage();
    await first.route('**', (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html>' }));
    // A page of the same site, as every port of this address is.
    await first.goto('http://127.0.0.1/');
    return { context, first, storage: await context.newCDPSession(first) };
  }
}

let ofProcess: Promise<Contexts> | null = null;

/** Opens an empty page for tests at `origin`. */
export async function openEmpty(origin: string, options: OpenOptions): Promise<OpenedPage> {
  ofProcess ??= browserOfProcess().then((browser) => new Contexts(browser));
  return (await ofProcess).open(origin, options);
}
