import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../clone.js';

const text = (path: string) => readFileSync(join(ROOT, path), 'utf8');

function withoutComments(file: string): string {
  const lines = file.split('\n').filter((line) => line.trim() !== '' && !line.trim().startsWith('#'));
  return `${lines.join('\n')}\n`;
}

it.each([
  ['nginx', 'docs/proxy/nginx.conf'],
  ['caddy', 'docs/proxy/Caddyfile'],
])("docs/proxy.md's block for %s is the file that the proxy test starts, without its comments", (language, file) => {
  const block = new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(text('docs/proxy.md'))?.[1];
  expect(block).toBe(withoutComments(text(file)));
});
