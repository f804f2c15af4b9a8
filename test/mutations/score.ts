import { markdownTable } from '../../scripts/markdown-table.js';
import { expectationOf } from './expectations.js';
import { LINES, mutationsOf } from './judge.js';
import { MODES } from './mutation.js';
import { siteOf } from './server-in-use.js';

const START = '<!-- mutations: generated, WRITE_DOCS=1 npx vitest run test/mutations -->';
const END = '<!-- /mutations -->';

/** The document with the score between its markers. */
export function withScore(page: string): string {
  const [from, to] = [page.indexOf(START), page.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`the markers of the score are missing: ${START} and ${END}`);
  return `${page.slice(0, from + START.length)}\n\n${scoreTable()}\n\n${reasonTable()}\n\n${page.slice(to)}`;
}

function expectedOf(line: string) {
  const site = siteOf(line);
  return mutationsOf(site).map((mutation) => expectationOf(mutation, site));
}

/** How many mutations of each line's server are noticed with how much permitted, all that was permitted before included. */
function scoreTable(): string {
  const rows = LINES.map((line) => {
    const expected = expectedOf(line);
    const shares = MODES.map((_, index) => {
      const seen = expected.filter(({ mode }) => mode !== null && MODES.indexOf(mode) <= index).length;
      return `${seen} (${Math.floor((100 * seen) / expected.length)} %)`;
    });
    const nobody = expected.filter(({ mode }) => mode === null).length;
    return [line, String(expected.length), ...shares, String(nobody)];
  });
  return markdownTable(['server', 'mutations', 'reads', '`--writes`', 'nobody'], rows);
}

/** Why some are noticed by nobody, or later than they could be met, with how many there are on each line. */
function reasonTable(): string {
  const expected = LINES.map(expectedOf);
  const reasons = new Map(
    expected.flat().flatMap(({ reason, mode }) => (reason === null ? [] : [[reason, mode] as const])),
  );
  const rows = [...reasons].map(([reason, mode]) => {
    const counts = expected.map((each) => String(each.filter((one) => one.reason === reason).length));
    return [reason, mode === null ? 'nobody' : `\`--${mode}\``, ...counts];
  });
  return markdownTable(['what', 'noticed with', ...LINES], rows);
}
