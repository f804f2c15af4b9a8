import { readFile, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { bundledChromium } from './chromium.js';

it('the browser is unpacked into a folder of this user alone, and takes libraries and fonts from there', async () => {
  const both = await Promise.all([bundledChromium(), bundledChromium()]);
  onTestFinished(() => Promise.all(both.map(({ remove }) => remove())).then(() => undefined));
  for (const { options } of both) {
    const folder = dirname(options.executablePath ?? '');
    const { uid, mode } = await stat(folder);
    expect([uid, mode & 0o777]).toEqual([process.getuid?.(), 0o700]);
    expect(options.env?.LD_LIBRARY_PATH?.split(':')[0]).toBe(join(folder, 'al2023/lib'));
    expect(options.env?.FONTCONFIG_PATH).toBe(join(folder, 'fonts'));
    const fonts = await readFile(join(folder, 'fonts/fonts.conf'), 'utf8');
    expect(fonts).toContain(`<dir>${folder}/fonts</dir>`);
    expect(fonts).not.toContain(`>${join(tmpdir(), 'fonts')}`);
  }
});
