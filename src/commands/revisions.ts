import { REVISIONS } from '../../revisions/all.js';
import { revisionTable } from '../../revisions/table.js';
import { type DayOfUse, MOST_DAYS } from '../core/operation-use.js';
import { switchFlag } from '../settings/flags.js';
import { capabilitiesOf } from '../wire/traits/revision.js';
import type { CommandContext } from './command.js';
import { defineCommand } from './define-command.js';
import { type OwnRecords, openOwnRecords, RECORDS_SETTINGS } from './own-records.js';
import { textTable } from './text-table.js';
import { usageJson } from './usage.js';

/** The records of all revisions for programs. */
function asJson(): string {
  const records = REVISIONS.map((revision) => {
    const { id, from, to, reportedVersion, recordedFrom, root, auth, snapshot, online, shareQuery } = revision;
    const traits = { root: root.name, auth: auth.name, snapshot: snapshot.name, online: online.name };
    const capabilities = capabilitiesOf(revision);
    const file = revision.file.name;
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
  readonly used: boolean;
}

/** The users of each revision in the last days, latest first, and since when they are known. */
function usedText(uses: readonly DayOfUse[]): string {
  const first = uses.at(-1)?.day;
  const rows = REVISIONS.map(({ id }) => {
    const own = uses.filter(({ revision }) => revision === id).toSorted((a, b) => b.lastSeen - a.lastSeen);
    const who = own.map(({ by, program }) => (program === '' ? by : `${by} (${program})`));
    return [id, own[0]?.day ?? 'never', [...new Set(who)].join(', ') || 'nobody'];
  });
  const since = first === undefined ? 'Nothing was counted yet.' : `Counted since ${first}, for ${MOST_DAYS} days.`;
  return `${textTable(['revision', 'last used', 'by'], rows)}\n${since}`;
}

export const revisions = defineCommand<Asked, OwnRecords | null>({
  name: 'revisions',
  settings: RECORDS_SETTINGS,
  readsSettings: (flags) => flags.values.has('used'),
  flags: [switchFlag('used'), switchFlag('evidence'), switchFlag('json')],
  home: async ({ home }, { used }, { context }) => (used ? openOwnRecords(home, context) : null),
  close: async (records) => records?.close(),
  ask(reading, { words }) {
    if (words.length > 0) reading.problems.push('revisions takes no arguments but --used, --evidence and --json');
    return { json: reading.isOn('json'), evidence: reading.isOn('evidence'), used: reading.isOn('used') };
  },
  async work(records, { json, evidence }, context) {
    if (records !== null) {
      const uses = await records.usage(MOST_DAYS);
      context.output.line(json ? usageJson(uses) : usedText(uses));
    } else if (evidence) context.output.line(await evidenceIn(json, context));
    else {
      const [head = [], ...rows] = revisionTable();
      context.output.line(json ? asJson() : textTable(head, rows));
    }
  },
  help: (settings) => `Usage: keyway revisions [--used] [--evidence] [--json]

Lists every API shape that Keyway speaks, oldest first: its name for --revision, the first and last
server package version that speak it, where its API stands, and its traits. A version such as
0.2.31 may stand wherever a revision's name may; "recorded" names the server version whose recorded
answers Keyway's tests play.

  --used      say of each who has used it in the last ${MOST_DAYS} days, and when last: whether it may go
  --evidence  print for each operation of each line how sure it is: recorded from a real server,
              specified, from other known facts, or inferred; how many steps of it Keyway's tests
              play; and where Keyway is known to differ, and why
  --json      print the same as JSON

Whose use, with --used:
${settings}`,
});
