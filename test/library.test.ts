import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from './clone.js';

/** What a module exports by name; of `export type *` what the module named there declares. */
async function exportsOf(path: string): Promise<ReadonlySet<string>> {
  const text = await readFile(join(ROOT, path), 'utf8');
  const names = [
    ...text.matchAll(/^export (?:declare )?(?:abstract )?(?:interface|type|class|function|const) (\w+)/gm),
  ].map(([, name = '']) => name);
  for (const [, list = ''] of text.matchAll(/^export (?:type )?\{([^}]+)\}/gm)) {
    names.push(...list.split(',').map((name) => name.trim().replace(/^type /, '')));
  }
  for (const [, from = ''] of text.matchAll(/^export type \* from '\.\/([^']+)\.js'/gm)) {
    names.push(...(await exportsOf(`src/${from}.ts`)));
  }
  return new Set(names);
}

it('every type that the options of createGateway and what it gives are written with is exported', async () => {
  const exported = await exportsOf('src/index.ts');
  const files = ['src/gateway/options.ts', 'src/gateway/compose.ts', 'src/gateway/homes/home.ts'];
  const needed = new Set<string>();
  for (const path of files) {
    const text = await readFile(join(ROOT, path), 'utf8');
    const imported = [...text.matchAll(/import (?:type )?\{([^}]+)\} from '\.{1,2}\//g)].flatMap(([, list = '']) =>
      list.split(',').map((name) => name.trim().replace(/^type /, '')),
    );
    const shapes = [...text.matchAll(/^export interface (Gateway\w*)[^{]*\{([\s\S]*?)^\}/gm)].map(([whole]) => whole);
    for (const name of imported) if (shapes.some((shape) => new RegExp(`\\b${name}\\b`).test(shape))) needed.add(name);
  }
  expect(needed.size).toBeGreaterThan(10);
  // What only the app's own parts are made with stays inside.
  const inner = new Set(['AppOptions']);
  expect([...needed].filter((name) => !exported.has(name) && !inner.has(name))).toEqual([]);
});
