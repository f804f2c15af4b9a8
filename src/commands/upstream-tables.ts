import { REVISIONS } from '../../revisions/all.js';
import { LOSSES } from '../client/losses.js';
import { markdownTable } from '../settings/text.js';
import type { Capability, Revision } from '../wire/traits/revision.js';

/** The work that Keyway does itself in front of a line that lacks it; some of it only by the server's configuration. */
const DONE_HERE: readonly { readonly lacks: Capability; readonly words: string; readonly byConfig?: true }[] = [
  { lacks: 'bulk', words: 'many keys by single creates' },
  { lacks: 'audit', words: 'the audit list' },
  { lacks: 'rules', words: 'rules by the configuration', byConfig: true },
  { lacks: 'dns', words: 'DNS settings by the configuration', byConfig: true },
  { lacks: 'login', words: 'login and sessions' },
  { lacks: 'panel', words: 'the panel' },
];

/** A row a line: what to call it with, and what Keyway does itself. */
export function linesTable(): string {
  const rows = REVISIONS.map((line) => {
    const done = DONE_HERE.filter(({ lacks, byConfig }) => {
      return line.capabilities[lacks] === undefined && (byConfig !== true || line.capabilities.config !== undefined);
    });
    return [
      line.to === null ? `${line.from} and later` : line.from === line.to ? line.from : `${line.from} to ${line.to}`,
      credentialOf(line),
      done.map(({ words }) => words).join(', '),
      line.recordedFrom ?? 'no',
    ];
  });
  return markdownTable(['server', 'credential', 'done by Keyway', 'measured on'], rows);
}

function credentialOf({ auth }: Revision): string {
  return auth.encode({ kind: 'token', secret: 'x' }) === null
    ? '`--upstream-username`, `--upstream-password`'
    : '`--upstream-token`';
}

/** A row a loss: what it is, in front of which servers, and where it shows. */
export function lossesTable(): string {
  const rows = [...new Set(LOSSES.map(({ sentence }) => sentence))].map((sentence) => {
    const same = LOSSES.filter((loss) => loss.sentence === sentence);
    const lines = REVISIONS.filter((line) => same.some((loss) => loss.of(line)));
    const places = same.map(({ operation, member }) => `\`${member}\` of ${operation}`);
    return [sentence, lines.map(({ id }) => id).join(', '), [...new Set(places)].join(', ')];
  });
  return markdownTable(['what is lost', 'lines', 'where it shows'], rows);
}
