import { REVISIONS } from '../../revisions/all.js';
import { revisionTable } from '../../revisions/table.js';
import { type FlagShape, isOn, parseFlags, problemText } from '../settings/flags.js';
import { markdownTable } from '../settings/text.js';
import { capabilitiesOf } from '../wire/traits/revision.js';
import { type Command, type CommandContext, type ExitCode, usageProblem } from './command.js';
import { textTable } from './text-table.js';

/** The README's table of revisions, oldest first. */
export function revisionsTable(): string {
  const [head = [], ...rows] = revisionTable();
  return markdownTable(head, rows);
}

/** The same records for programs. */
function asJson(): string {
  const records = REVISIONS.map((revision) => {
    const { id, from, to, reportedVersion, recordedFrom, root, auth, snapshot, online, shareQuery } = revision;
    const traits = { root: root.name, auth: auth.name, snapshot: snapshot.name, online: online.name };
    const capabilities = capabilitiesOf(revision);
    const file = revision.fileReading.name;
    return { id, from, to, reportedVersion, recordedFrom, ...traits, shareQuery: shareQuery.name, file, capabilities };
  });
  return JSON.stringify(records, null, 2);
}

const FLAGS: readonly FlagShape[] = [{ flag: 'json', placeholder: null, repeatable: false }];

async function run(argv: readonly string[], context: CommandContext): Promise<ExitCode> {
  const flags = parseFlags(argv, FLAGS);
  const { words, problems } = flags;
  if (problems.length > 0 || words.length > 0) {
    const strayWords = words.length > 0 ? ['revisions takes no arguments but --json'] : [];
    return usageProblem(context, 'revisions', [...problems.map(problemText), ...strayWords]);
  }
  const [head = [], ...rows] = revisionTable();
  context.output.line(isOn(flags, 'json') ? asJson() : textTable(head, rows));
  return 0;
}

export const revisions: Command = {
  name: 'revisions',
  flags: FLAGS,
  help: () => `Usage: keyway revisions [--json]

Lists every API shape that Keyway speaks, oldest first: its name for --revision, the first and last
server package version that speak it, where its API stands, and its traits. A version such as
0.2.31 may stand wherever a revision's name may; "recorded" names the server version whose recorded
answers Keyway's tests play.

  --json  print the same as JSON`,
  run,
};
