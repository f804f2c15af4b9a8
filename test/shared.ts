import type { Browser, LaunchOptions } from 'playwright-core';
import { inject } from 'vitest';

export type Shared = 'browser' | 'build' | 'installed-postgres' | 'port' | 'postgres';

/** Asks the run that this test file belongs to for what its files share (test/global-setup.ts). Rejects with its words. */
export async function askShared(what: Shared): Promise<unknown> {
  const response = await fetch(`${inject('shared')}/${what}`);
  const answer: unknown = await response.json();
  if (!response.ok) throw new Error(String(answer));
  return answer;
}

let launched: Promise<Browser> | null = null;

/**
 * The browser of this process, which runs one test file after another and ends it with itself. Through a browser in the
 * process of the run everything would be said twice, which takes a tenth of what the browser itself does.
 */
export function browserOfProcess(): Promise<Browser> {
  launched ??= launch();
  return launched;
}

async function launch(): Promise<Browser> {
  const options = await browserOptions();
  // The pages of a context use one process: a new one reads and compiles every script anew.
  const args = [...(options.args ?? []), '--process-per-site'];
  return (await loadChromium()).launch({ ...options, args });
}

/** Most files that share something need no browser, and its library takes most of a second to load. */
async function loadChromium() {
  const { chromium } = await import('playwright-core');
  return chromium;
}

async function browserOptions(): Promise<LaunchOptions> {
  return (await askShared('browser')) as LaunchOptions; // Global setup answers with them.
}
