import { operationsOf } from '../wire/operations.js';
import type { Revision } from '../wire/traits/revision.js';
import type { PanelFiles } from './panel-files.js';

/** A page without scripts that says what is running and lists the API; it holds nothing that needs a credential. */
export function plainPage(revision: Revision, version: string): PanelFiles {
  const rows = operationsOf(revision).map(
    ({ method, path, summary, access }) =>
      `<tr><td>${method}</td><td><code>api${path}</code></td><td>${summary}</td><td>${access}</td></tr>`,
  );
  const content = Buffer.from(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Keyway</title>
<meta name="viewport" content="width=device-width"><style>
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}td,th{text-align:left;padding:.2rem 1rem .2rem 0}
</style><h1>Keyway</h1><p>This address serves revision <b>${revision.id}</b> of the management API, as server version ${version}.
<table><tr><th>Method<th>Path<th>What it does<th>Access</tr>${rows.join('\n')}</table></html>\n`,
  );
  return {
    file: async (path) => (path === 'index.html' ? { content, contentType: 'text/html' } : null),
  };
}
