import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../clone.js';
import type { ExposedFamily } from './exposition.js';
import { opsStage } from './stage.js';

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number };
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

/** Of the process, for whoever looks for the reason of something; Grafana's Explore shows them. */
const NOT_SHOWN = [
  'nodejs_active_handles',
  'nodejs_active_handles_total',
  'nodejs_active_requests',
  'nodejs_active_requests_total',
  'nodejs_active_resources',
  'nodejs_active_resources_total',
  'nodejs_heap_space_size_available_bytes',
  'nodejs_heap_space_size_total_bytes',
  'nodejs_heap_space_size_used_bytes',
  'nodejs_version_info',
  'process_heap_bytes',
  'process_virtual_memory_bytes',
];

const dashboard: { readonly panels: readonly Panel[] } = JSON.parse(
  await readFile(join(ROOT, 'docs/grafana-dashboard.json'), 'utf8'),
);
const panels = dashboard.panels.filter(({ type }) => type !== 'row');
const targets = panels.flatMap((panel) => panel.targets ?? []);
type Families = ReadonlyMap<string, ExposedFamily>;
let known: Promise<Families> | null = null;

/** Every metric of a gateway with all that may stand beside it. */
function metricFamilies(): Promise<Families> {
  known ??= (async () => {
    const stage = await opsStage({ access_keys: ['a'], dns: { enabled: true, local_port: 0, adblock_urls: [] } });
    await stage.call('GET', '/panel/api/users');
    return (await stage.metrics()).families;
  })();
  return known;
}

/** The metric that a name in an expression stands for. */
function familyOf(families: Families, name: string): string {
  const base = name.replace(/_(bucket|sum|count)$/, '');
  return families.get(base)?.type === 'histogram' ? base : name;
}

/** Metrics that a text names. */
function namesIn(expression: string): readonly string[] {
  return [...expression.matchAll(/\b(?:keyway|process|nodejs)_[a-z0-9_]+/g)].map(([name]) => name);
}

describe('docs/grafana-dashboard.json', () => {
  it('names no metric that Keyway does not have', async () => {
    const families = await metricFamilies();
    const names = targets.flatMap(({ expr }) => namesIn(expr).map((name) => familyOf(families, name)));
    expect(names.length).toBeGreaterThan(40);
    expect(names.filter((name) => !families.has(name))).toEqual([]);
  });

  it('shows every metric, but for those that are named here', async () => {
    const families = await metricFamilies();
    const shown = new Set(targets.flatMap(({ expr }) => namesIn(expr).map((name) => familyOf(families, name))));
    expect([...families.keys()].filter((name) => !shown.has(name)).sort()).toEqual(NOT_SHOWN);
  });

  it('takes rates of counters and histograms, and values of everything else', async () => {
    const families = await metricFamilies();
    for (const { expr } of targets) {
      const rated = [...expr.matchAll(/(?:rate|increase)\(([a-z0-9_]+)/g)].map(([, name = '']) => name);
      for (const name of namesIn(expr)) {
        const type = families.get(familyOf(families, name))?.type;
        expect(rated.includes(name), `${name} in ${expr}`).toBe(type === 'counter' || type === 'histogram');
      }
    }
  });

  it('names in each legend only labels that its expression keeps', () => {
    for (const { expr, legendFormat } of targets) {
      const kept = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(', '));
      const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
      expect(
        named.filter((label) => !kept.includes(label)),
        expr,
      ).toEqual([]);
    }
  });

  it('asks the data source that its reader chooses, for the jobs and instances that its reader chooses', () => {
    for (const { datasource, title } of panels) expect(datasource?.uid, title).toMatch(/^\$\{datasource\}$/);
    for (const { expr } of targets) {
      const selectors = expr.split('{job=~"$job",instance=~"$instance"').length - 1;
      expect(selectors, expr).toBe(namesIn(expr).length);
    }
  });

  it('has its panels side by side, each with an id of its own', () => {
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    for (const [index, { gridPos: one, title }] of dashboard.panels.entries()) {
      expect(one.x + one.w, title).toBeLessThanOrEqual(24);
      for (const { gridPos: other, title: otherTitle } of dashboard.panels.slice(index + 1)) {
        const apart =
          one.x + one.w <= other.x ||
          other.x + other.w <= one.x ||
          one.y + one.h <= other.y ||
          other.y + other.h <= one.y;
        expect(apart, `${title} and ${otherTitle}`).toBe(true);
      }
    }
  });
});
