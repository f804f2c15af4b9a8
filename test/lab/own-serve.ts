import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ROOT } from '../clone.js';
import { runHere } from '../commands/context.js';
import { folderForTest } from '../folder-for-test.js';
import { serveHere } from '../serve/serve-here.js';

const CREDENTIALS = { KEYWAY_TOKEN: 'sample-static-token', KEYWAY_PASSWORD: 'password' };

/** Members of a file that has TLS links behind a web server, and subscriptions. */
const TLS = `"domain": "vpn.example.com", "tls": { "enabled": true, "frontend": "nginx", "ws_path": "/s3cr3tpath" },
  "subscription": { "enabled": true },`;

const sample = (name: string) => readFile(join(ROOT, 'fixtures/samples', name), 'utf8');

/** Files as operators have them, by what they are. */
export const FILES: Readonly<Record<string, () => Promise<string>>> = {
  'the sample': () => sample('server.jsonc'),
  'the sample of 0.3.21': () => sample('server-0.3.21.jsonc'),
  'the sample with TLS and a domain': async () =>
    (await sample('server.jsonc')).replace('"mode": "server",', (mode) => `${mode}\n  ${TLS}`),
};

/** Serves such a file as a line, and holds it against that line: by `identify`, by reads and with `--writes`. */
export async function holdAgainstItself(line: string, file: string): Promise<void> {
  const path = join(await folderForTest(), 'server.jsonc');
  await writeFile(path, (await FILES[file]?.()) ?? '');
  const argv = ['serve', '--config', path, '--revision', line, '--bind', '127.0.0.1:0'];
  const url = new URL(await (await serveHere(argv)).url);
  const run = (command: string, ...flags: readonly string[]) =>
    runHere([command, ...flags, '--username', 'admin'], { environment: CREDENTIALS });
  const target = `${url.origin}/panel`;
  const identified = await run('identify', target);
  expect.soft(identified.output, 'identify').toContain(line);
  expect.soft(identified.code, identified.output).toBe(0);
  for (const flags of [[], ['--writes']]) {
    const { output, complaints, code } = await run('replay', '--target', target, '--revision', line, ...flags);
    expect.soft(code, `${flags}: ${output}${complaints}`).toBe(0);
  }
}
