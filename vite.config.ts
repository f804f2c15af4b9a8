import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const outDir = fileURLToPath(new URL('dist/panel/', import.meta.url));

/** Writes a `.gz` and a `.br` beside every text file of the build, so that nothing is compressed while serving. */
function precompress(): Plugin {
  return {
    name: 'precompress',
    apply: 'build',
    closeBundle() {
      for (const name of readdirSync(outDir, { recursive: true, encoding: 'utf8' })) {
        if (!/\.(?:js|css|html|svg)$/.test(name)) continue;
        const path = join(outDir, name);
        const content = readFileSync(path);
        const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
        writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
        writeFileSync(`${path}.br`, brotliCompressSync(content, { params }));
      }
    },
  };
}

/** The panel: `npm run build` puts it into `dist/panel/`, all paths relative, names with content hashes. */
export default defineConfig({
  root: fileURLToPath(new URL('panel/', import.meta.url)),
  base: './',
  publicDir: false,
  logLevel: 'warn',
  // Never the development flavour, which names this machine's paths: whatever NODE_ENV says, a build is the same.
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact', development: false } },
  build: {
    outDir,
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // Packages only define things: what nobody imports of them goes, though they do not say so themselves.
    rolldownOptions: { treeshake: { moduleSideEffects: (id) => !id.includes('/node_modules/') } },
  },
  plugins: [precompress()],
});
