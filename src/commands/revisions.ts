import { REVISIONS } from '../../revisions/all.js';
import { revisionTable } from '../../revisions/table.js';
import { markdownTable } from '../settings/text.js';
import { capabilitiesOf } from '../wire/traits/revision.js';
import type { CommandContext } from './command.js';
import { defineCommand, NO_HOME } from './define-command.js';
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

async function evidenceIn(json: boolean, context: CommandContext): Promise<string> {
  const { evidenceJson, evidenceText, packEvidence } = await import('./evidence.js');
  const evidence = await packEvidence(context);
  return json ? evidenceJson(evidence) : evidenceText(evidence);
}

interface Asked {
  readonly json: boolean;
  readonly evidence: boolean;
}

export const revisions = defineCommand<Asked, null>({
  name: 'revisions',
  flags: [
    { flag: 'evidence', placeholder: null, repeatable: false },
    { flag: 'json', placeholder: null, repeatable: false },
  ],
  home: NO_HOME,
  ask(reading, { words }) {
    if (words.length > 0) reading.problems.push('revisions takes no arguments but --evidence and --json');
    return { json: reading.isOn('json'), evidence: reading.isOn('evidence') };
  },
  async work(_home, { json, evidence }, context) {
    const [head = [], ...rows] = revisionTable();
    if (evidence) context.output.line(await evidenceIn(json, context));
    else context.output.line(json ? asJson() : textTable(head, rows));
    return 0;
  },
  help: () => `Usage: keyway revisions [--evidence] [--json]

Lists every API shape that Keyway speaks, oldest first: its name for --revision, the first and last
server package version that speak it, where its API stands, and its traits. A version such as
0.2.31 may stand wherever a revision's name may; "recorded" names the server version whose recorded
answers Keyway's tests play.

  --evidence  print for each operation of each line how sure it is: recorded from a real server,
              specified, from other known facts, or inferred; how many steps of it Keyway's tests
              play; and where Keyway is known to differ, and why
  --json      print the same as JSON`,
});
