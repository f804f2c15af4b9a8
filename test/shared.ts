import type { Browser, BrowserContext, LaunchOptions } from 'playwright-core';
import { inject } from 'vitest';

export type Shared = 'browser' | 'build' | 'installed-postgres' | 'port' | 'postgres';

/** Asks the run that this test file belongs to for what its files share (test/global-setup.ts). Rejects with its words. */
export async function askShared(what: Shared): Promise<unknown> {
  const response = await fetch(`${inject('shared')}/${what}`);
  const answer: unknown = await response.json();
  if (!response.ok) throw new Error(String(answer));
  return answer;
}

/** The one browser of the run. Closing it closes what was opened through it. */
export async function connectBrowser(): Promise<Browser> {
  const { endpoint } = await sharedBrowser();
  return (await loadChromium()).connect(endpoint);
}

/** A browser of its own that keeps what it remembers in a folder, as people's do. */
export async function openProfile(folder: string): Promise<BrowserContext> {
  const { options } = await sharedBrowser();
  return (await loadChromium()).launchPersistentContext(folder, options);
}

/** Most files that share something need no browser, and its library takes most of a second to load. */
async function loadChromium() {
  const { chromium } = await import('playwright-core');
  return chromium;
}

async function sharedBrowser(): Promise<SharedBrowser> {
  return (await askShared('browser')) as SharedBrowser; // Global setup answers with one.
}

/** The browser that all test files use, and how another one is started. */
export interface SharedBrowser {
  readonly endpoint: string;
  readonly options: LaunchOptions;
}
