import { isAbsolute, relative } from 'node:path';
import { type ScenarioResult, shownInWords } from '../compare/result.js';
import type { LineSink, Reporter } from './report.js';
import { createTextReporter, type TextDetail } from './report-text.js';
import { verdictLines } from './verdict.js';

/**
 * Writes the report for users, with GitHub's workflow commands between its lines: an error for each scenario that
 * differs or could not be played, at its file, and the verdict as a notice. Paths are relative to `folder`, as in the
 * checkout.
 */
export function createGithubReporter(
  line: LineSink,
  sides: readonly [string, string],
  { folder, ...detail }: TextDetail & { readonly folder: string },
): Reporter {
  const text = createTextReporter(line, sides, detail);
  return {
    done(result) {
      text.done?.(result);
      if (result.outcome === 'different' || result.outcome === 'broken') line(annotation(result, folder));
    },
    end(end) {
      text.end(end);
      if (end.verdict !== null) line(`::notice title=keyway::${data(verdictLines(end.verdict).join('\n'))}`);
      for (const problem of end.problems) line(`::error title=keyway::${data(problem)}`);
    },
  };
}

function annotation({ name, path, reason, differences }: ScenarioResult, folder: string): string {
  const file = path === '' ? '' : `file=${property(isAbsolute(path) ? relative(folder, path) : path)},`;
  const message = reason ?? differences.map(shownInWords).join('\n');
  return `::error ${file}title=${property(name)}::${data(message)}`;
}

/** Escapes the text of a workflow command, which a line break would end. */
function data(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function property(text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
