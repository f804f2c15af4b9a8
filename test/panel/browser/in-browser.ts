import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import {
  openPage,
  type PageOptions,
  type Stage,
  type StageOptions,
  signIn,
  startStage,
  storedSession,
} from './stage.js';

/** The pages by the names in their menu. */
export const PAGES = ['Overview', 'Keys', 'Configuration', 'Rules', 'DNS', 'Audit', 'Tokens'];

export interface PanelOptions extends PageOptions {
  /** Whether the test begins signed in, by default it does. */
  readonly signed?: boolean;
  /** Whether the password is typed into the login, which the panel notes in the audit list; the page is given a session otherwise. */
  readonly typed?: boolean;
  readonly stage?: StageOptions;
}

/** Runs with a gateway and a page that must be clean at the end. */
export async function withPanel(
  revision: string,
  test: (page: Page, stage: Stage) => Promise<void>,
  { signed = true, typed = false, stage: given, ...options }: PanelOptions = {},
): Promise<void> {
  const stage = await startStage(revision, given);
  const stored = signed && !typed ? await storedSession(stage) : {};
  const watched = await openPage(stage.panel, { stored, ...options });
  try {
    if (signed) {
      if (typed) await signIn(watched.page);
      await watched.page.getByRole('heading', { level: 1, name: /Overview|Обзор/ }).waitFor();
    }
    await test(watched.page, stage);
    watched.expectClean();
  } finally {
    await watched.close();
    await stage.close();
  }
}

/** The bar of batches. */
export const jobsBar = (page: Page) => page.getByRole('region', { name: 'Jobs' });

/** What a server without clients is led through. */
export const firstSteps = (page: Page) => page.getByRole('region', { name: 'First steps' });

/** Fails where something is wider than the window, or where the frame can be scrolled away. */
export async function expectFits(page: Page): Promise<void> {
  expect(
    await page.evaluate(
      '[document.documentElement.scrollWidth - innerWidth, document.documentElement.scrollHeight - innerHeight].map((over) => Math.max(0, over))',
    ),
  ).toEqual([0, 0]);
}

/** The words of buttons, heads, menus and of what is used that have no room. */
export async function cutWords(page: Page): Promise<unknown> {
  return page.evaluate(`[...document.querySelectorAll('.button, .segments button, h1, h2, th, label, dt, nav a > span, .badge, .cell-used')]
    .filter((element) => element.checkVisibility() && element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).display !== 'inline' && !element.closest('.visually-hidden'))
    .map((element) => element.textContent)`);
}
