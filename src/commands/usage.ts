import { type DayOfUse, MOST_DAYS } from '../core/operation-use.js';
import { switchFlag, valueFlag } from '../settings/flags.js';
import { defineCommand } from './define-command.js';
import { type OwnRecords, openOwnRecords, RECORDS_SETTINGS } from './own-records.js';
import { textTable } from './text-table.js';

interface Asked {
  readonly days: number;
  readonly json: boolean;
}

export const usage = defineCommand<Asked, OwnRecords>({
  name: 'usage',
  settings: RECORDS_SETTINGS,
  flags: [valueFlag('days', 'N'), switchFlag('json')],
  words: { names: [] },
  help: (settings) => `Usage: keyway usage [--days N] [--json]

Says who still uses what: the token (or static, session, open for no credential), the program, the
revision and the operation, how often, and when last. No keys and no addresses are kept.

  --days N         The last N days, at most ${MOST_DAYS}. Default: ${MOST_DAYS}.
  --json           By day, as a JSON array.

Whose use:
${settings}`,
  ask(reading) {
    const text = reading.value('days') ?? String(MOST_DAYS);
    const days = /^\d{1,3}$/.test(text) ? Number(text) : 0;
    if (days < 1 || days > MOST_DAYS) reading.problems.push(`--days: expected a whole number from 1 to ${MOST_DAYS}`);
    return { days, json: reading.isOn('json') };
  },
  home: ({ home }, _asked, { context }) => openOwnRecords(home, context),
  async work(records, { days, json }, context) {
    const uses = await records.usage(days);
    for (const line of json ? [usageJson(uses)] : tableLines(uses)) context.output.line(line);
  },
  close: (records) => records.close(),
});

const momentOf = (time: number): string => `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

/** The days of what is alike together, the latest use first. */
function tableLines(uses: readonly DayOfUse[]): readonly string[] {
  if (uses.length === 0) return ['No use.'];
  const alike = new Map<string, DayOfUse>();
  for (const use of uses) {
    const name = JSON.stringify([use.by, use.program, use.revision, use.operation]);
    const { count = 0, lastSeen = 0 } = alike.get(name) ?? {};
    alike.set(name, { ...use, count: use.count + count, lastSeen: Math.max(use.lastSeen, lastSeen) });
  }
  const rows = [...alike.values()]
    .toSorted((a, b) => b.lastSeen - a.lastSeen)
    .map(({ by, program, revision, operation, count, lastSeen }) => [
      ...[by, program, revision, operation, String(count), momentOf(lastSeen)],
    ]);
  return [textTable(['by', 'program', 'revision', 'operation', 'count', 'last'], rows)];
}

export function usageJson(uses: readonly DayOfUse[]): string {
  const rows = uses.map(({ lastSeen, ...use }) => ({ ...use, last_seen: new Date(lastSeen).toISOString() }));
  return JSON.stringify(rows, null, 2);
}
