import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { ROOT } from '../clone.js';
import { connectBrowser } from '../shared.js';
import {
  openPage,
  type PageOptions,
  type Stage,
  type StageOptions,
  signIn,
  startStage,
  storedSession,
  type Watched,
} from './stage.js';

/** The pages by the names in their menu. */
export const PAGES = ['Overview', 'Keys', 'Configuration', 'Rules', 'DNS', 'Audit'];
/** Those that are there where Keyway's own interface is. */
export const OWN_PAGES = ['Tokens'];

export interface PanelOptions extends PageOptions {
  /** Whether the test begins signed in, by default it does. */
  readonly signed?: boolean;
  /** The session of a test that begins signed in, by default that of its file. */
  readonly session?: Session;
  /** What the login calls its fields and its button, where it is not in English. */
  readonly words?: readonly [string, string, string];
  readonly stage?: StageOptions;
}

/** The tests of a file in the browser of the run. */
export interface InBrowser {
  open(url: string, options?: PageOptions): Promise<Watched>;
  /** Runs with a gateway and a page that must be clean at the end. */
  withPanel(revision: string, test: (page: Page, stage: Stage) => Promise<void>, options?: PanelOptions): Promise<void>;
}

/**
 * The way in which a session begins. `typed`: the password is typed into the login. `stored`: the page finds the session in its
 * tab's storage, which saves a third of a second; the panel then notes no sign-in in the audit list.
 */
type Session = 'typed' | 'stored';

/** The tests of a file; `session` is that of its tests that begin signed in. */
export function inBrowser({ session: usual = 'typed' }: { readonly session?: Session } = {}): InBrowser {
  let browser: Browser;
  beforeAll(async () => {
    browser = await connectBrowser();
  });
  afterAll(() => browser.close());
  return {
    open: (url, options) => openPage(browser, url, options),
    async withPanel(revision, test, { signed = true, session = usual, words, stage: given, ...options } = {}) {
      const stage = await startStage(revision, given);
      const stored = signed && session === 'stored' ? await storedSession(stage) : {};
      const watched = await openPage(browser, stage.panel, { stored, ...options });
      try {
        if (signed) {
          if (session === 'typed') await signIn(watched.page, undefined, words);
          await watched.page.getByRole('heading', { level: 1, name: /Overview|Обзор/ }).waitFor();
        }
        await test(watched.page, stage);
        watched.expectClean();
      } finally {
        await watched.page.context().close();
        await stage.close();
      }
    },
  };
}

/** Fails with what axe found wrong (WCAG 2.2 A and AA). */
export function expectAccessible(page: Page): Promise<void> {
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  return expectRules(page, tags);
}

/** Fails with what cannot be told from its background: all else that axe looks at is the same in every colour. */
export function expectContrast(page: Page): Promise<void> {
  return expectRules(page, ['color-contrast']);
}

async function expectRules(page: Page, rules: readonly string[]): Promise<void> {
  if (!(await page.evaluate('"axe" in window'))) {
    await page.evaluate(readFileSync(join(ROOT, 'node_modules/axe-core/axe.min.js'), 'utf8'));
  }
  const found: unknown = await page.evaluate(`axe.run(document, {
    runOnly: ${JSON.stringify(rules)},
    resultTypes: ['violations'],
  }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 160)).join(' | ')))`);
  expect(found).toEqual([]);
}

/** Fails where something is wider than the window, or where the frame can be scrolled away. */
export async function expectFits(page: Page): Promise<void> {
  expect(
    await page.evaluate(
      '[document.documentElement.scrollWidth - innerWidth, document.documentElement.scrollHeight - innerHeight].map((over) => Math.max(0, over))',
    ),
  ).toEqual([0, 0]);
}

/** The words of buttons, heads and menus that have no room. */
export async function cutWords(page: Page): Promise<unknown> {
  return page.evaluate(`[...document.querySelectorAll('.button, .segments button, h1, h2, th, label, dt, nav a > span, .badge')]
    .filter((element) => element.checkVisibility() && element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).display !== 'inline' && !element.closest('.visually-hidden'))
    .map((element) => element.textContent)`);
}

/** Has the page believe that it is in a hidden tab, or in sight again. */
export async function setHidden(page: Page, hidden: boolean): Promise<void> {
  await page.evaluate(`{
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${hidden} });
    document.dispatchEvent(new Event('visibilitychange'));
  }`);
}
