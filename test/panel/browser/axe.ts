import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { ROOT } from '../../clone.js';

const PATH = '/axe.js';
/** The file of axe, for pages whose policy lets them load nothing. */
export const AXE = join(ROOT, 'node_modules/axe-core/axe.min.js');

/** Has a gateway serve axe, which its pages then load by themselves: handing half a megabyte to each takes a third of a second. */
export function serveAxe(app: FastifyInstance): void {
  app.get(PATH, async (_, reply) =>
    reply
      .type('text/javascript')
      .header('cache-control', 'max-age=3600')
      .send(await readFile(AXE)),
  );
}

/** Fails with what axe found wrong (WCAG 2.2 A and AA). */
export function expectAccessible(page: Page): Promise<void> {
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  return expectRules(page, tags);
}

/** Fails with what is hard to see or to hit: all else that axe looks at is the same in every colour and width of one layout. */
export function expectLegible(page: Page): Promise<void> {
  return expectRules(page, ['color-contrast', 'target-size']);
}

async function expectRules(page: Page, rules: readonly string[]): Promise<void> {
  if (!(await page.evaluate('"axe" in window'))) await page.addScriptTag({ url: PATH });
  const found: unknown = await page.evaluate(`axe.run(document, {
    runOnly: ${JSON.stringify(rules)},
    resultTypes: ['violations'],
  }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 160)).join(' | ')))`);
  expect(found).toEqual([]);
}
