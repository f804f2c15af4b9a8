import type { Browser, BrowserContext, BrowserContextOptions, CDPSession, Page } from 'playwright-core';

/** Options of a page; those that a context has by itself make a context of their own. */
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
 * The contexts of a test file, one for all pages that may share one. Their pages are in one process after the other's end, which
 * saves a third of what it takes to open one: a new process reads and compiles every script anew.
 */
export class Contexts {
  readonly #browser: Browser;
  readonly #kept = new Map<string, Promise<Kept>>();
  readonly #opened = new Set<BrowserContext>();

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
      ...rest
    }: OpenOptions,
  ): Promise<OpenedPage> {
    // The time is put forward in a whole context, and for good.
    if (clock) return this.#openAlone({ viewport, colorScheme, reducedMotion, ...rest });
    const name = JSON.stringify(rest);
    const making = this.#kept.get(name) ?? this.#keep(rest);
    this.#kept.set(name, making);
    const { context, first, storage } = await making;
    const page = await context.newPage();
    if (viewport !== null && viewport !== VIEWPORT) await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme, reducedMotion });
    return {
      page,
      async close() {
        for (const each of context.pages()) if (each !== first) await each.close();
        // Another gateway may be given the same port.
        await storage.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' });
      },
    };
  }

  /** Closes all of them, and every page. */
  async close(): Promise<void> {
    for (const context of this.#opened) await context.close();
  }

  async #openAlone(options: BrowserContextOptions): Promise<OpenedPage> {
    const context = await this.#newContext(options);
    const page = await context.newPage();
    await page.clock.install();
    return { page, close: () => context.close() };
  }

  async #keep(options: BrowserContextOptions): Promise<Kept> {
    const context = await this.#newContext({ viewport: VIEWPORT, ...options });
    const first = await context.newPage();
    await first.route('**', (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html>' }));
    // A page of the same site, as every port of this address is.
    await first.goto('http://127.0.0.1/');
    return { context, first, storage: await context.newCDPSession(first) };
  }

  async #newContext(options: BrowserContextOptions): Promise<BrowserContext> {
    const context = await this.#browser.newContext(options);
    this.#opened.add(context.on('close', () => this.#opened.delete(context)));
    return context;
  }
}
