import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { toldApartTable, withTable } from '../../scripts/document-tables.js';
import { type ToldApart, tellAllApart } from '../../scripts/told-apart.js';

const ROOT = join(import.meta.dirname, '../..');

/** Servers that another line's record fits as well, whatever is read, and why. */
const UNTOLD: Readonly<Record<string, string>> = {
  '0.2.0 as 0.2.25': 'a link without a query is what a line with a configured one gives where none is configured',
  'current as 0.4.0': 'nothing but the version tells them apart',
  '0.4.0 as current': 'nothing but the version tells them apart',
};

const PAIRS = REVISIONS.flatMap((server) => REVISIONS.map((revision) => [server.id, revision.id] as const));

describe('by reads alone a server with keys and counters of', () => {
  const told: ToldApart[] = [];
  beforeAll(async () => void told.push(...(await tellAllApart())));

  function differingRules(server: string, revision: string): readonly string[] {
    const by = told.find((each) => each.server.id === server)?.by ?? [];
    const findings = by.find((each) => each.revision.id === revision)?.findings ?? [];
    expect(findings.length).toBeGreaterThan(0);
    return findings.filter(({ outcome }) => outcome === 'differs').map(({ rule }) => rule);
  }

  test.each(PAIRS.filter(([server, revision]) => server === revision))('%s fits its own record', (server, revision) => {
    expect(differingRules(server, revision)).toEqual([]);
  });

  test.each(PAIRS.filter(([server, revision]) => server !== revision))('%s is told from %s', (server, revision) => {
    const isTold = differingRules(server, revision).length > 0;
    expect(isTold).toBe(UNTOLD[`${server} as ${revision}`] === undefined);
  });

  test('the table of the documentation says so', async () => {
    const page = await readFile(join(ROOT, 'docs/replay-ci.md'), 'utf8');
    expect(withTable('docs/replay-ci.md', page, 'told apart', toldApartTable(told))).toBe(page);
  });

  test('each line show every rule and every read operation that its record has', () => {
    for (const { server, by } of told) {
      const own = by.find(({ revision }) => revision === server)?.findings ?? [];
      const unseen = own.filter(({ outcome }) => outcome === 'unseen').map(({ rule }) => rule);
      const { config, panel } = server.capabilities;
      const lacking = [...(config === undefined ? ['configuration'] : []), ...(panel === undefined ? ['panel'] : [])];
      expect(unseen).toEqual(lacking);
    }
  });
});
