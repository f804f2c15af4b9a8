import type { AskedToken, NamedToken } from '../core/named-tokens.js';
import type { ClockPort } from '../core/ports.js';
import { PRESETS, type Preset } from '../core/principal.js';
import { type FlagReading, switchFlag, valueFlag } from '../settings/flags.js';
import type { Command, CommandContext } from './command.js';
import { type CommandPlan, defineCommand } from './define-command.js';
import { type OwnRecords, openOwnRecords, RECORDS_SETTINGS } from './own-records.js';
import { textTable } from './text-table.js';

const LATER_EXPECTED = 'a time from now such as 90d, 12h or 30m, or a day such as 2027-03-01';

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The meaning of each preset, for people. */
const PRESET_WORDS: Readonly<Record<Preset, string>> = {
  status: 'read the status',
  relay: 'read the keys',
  create: 'make keys, and read those that it made',
  keys: 'read, make, change and remove keys, and read the status',
  all: 'do everything, as the static token does',
};

type TokenPlan<Asked> = Pick<CommandPlan<Asked, OwnRecords>, 'name' | 'flags' | 'words' | 'ask' | 'work'> & {
  readonly usage: string;
};

/** Makes it a command over the records of a state. */
function tokenCommand<Asked>({ usage, ...plan }: TokenPlan<Asked>): Command {
  return defineCommand<Asked, OwnRecords>({
    ...plan,
    settings: RECORDS_SETTINGS,
    help: (settings) => `${usage}

Where the tokens are:
${settings}
Of a state that a Keyway serves the command is done by that Keyway, and holds when it ends.`,
    home: ({ home }, _asked, { context }) => openOwnRecords(home, context),
    close: (records) => records.close(),
  });
}

export const tokenAdd = tokenCommand<AskedToken>({
  name: 'token add',
  flags: [valueFlag('may', 'PRESET', PRESETS), valueFlag('expires', 'TIME')],
  words: { names: ['NAME'] },
  usage: `Usage: keyway token add NAME --may PRESET [--expires TIME]

Makes a token of this name and prints it. It is shown this once; what is kept is its SHA-256. It goes
into the header "Authorization: Bearer kw_…" in every revision, and of Keyway's own interface.

  --may PRESET     What its holder may do:
${PRESETS.map((preset) => `                     ${preset.padEnd(8)} ${PRESET_WORDS[preset]}`).join('\n')}
  --expires TIME   When it ends: ${LATER_EXPECTED}. Default: never.`,
  ask(reading, { words: [name = ''] }, { context }) {
    const may = PRESETS.find((preset) => preset === reading.value('may'));
    if (may === undefined) reading.problems.push(`--may: expected one of ${PRESETS.join(', ')}`);
    return { name, may: may ?? 'status', expiresAt: laterTimeOf(reading, 'expires', context.clock), label: null };
  },
  async work(records, asked, context) {
    const secret = await records.addToken(asked);
    context.output.line(secret);
    const until = asked.expiresAt === null ? '' : `, until ${timeText(asked.expiresAt)}`;
    context.complain(`The token ${asked.name} may ${PRESET_WORDS[asked.may]}${until}. It is not shown again.`);
  },
});

export const tokenList = tokenCommand<{ readonly json: boolean }>({
  name: 'token list',
  flags: [switchFlag('json')],
  words: { names: [] },
  usage: `Usage: keyway token list [--json]

Lists the named tokens: what each may do, when it was made and by whom, and when it ends.

  --json           As a JSON array.`,
  ask: (reading) => ({ json: reading.isOn('json') }),
  async work(records, { json }, context) {
    const tokens = await records.tokens();
    for (const line of json ? [jsonText(tokens)] : tableLines(tokens, context)) context.output.line(line);
  },
});

export const tokenRemove = tokenCommand<{ readonly name: string }>({
  name: 'token remove',
  words: { names: ['NAME'] },
  usage: `Usage: keyway token remove NAME

Ends the token of this name at once, with every gateway of the state within a second.`,
  ask: (_reading, { words: [name = ''] }) => ({ name }),
  async work(records, { name }, context) {
    await records.removeToken(name);
    context.output.line(`Removed the token ${name}.`);
  },
});

const timeText = (time: number): string => `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

function tableLines(tokens: readonly NamedToken[], { clock }: CommandContext): readonly string[] {
  if (tokens.length === 0) return ['No token.'];
  const rows = tokens.map(({ name, may, createdAt, expiresAt, madeBy, label }) => {
    const hasEnded = expiresAt !== null && expiresAt <= clock.now();
    return [
      name,
      may,
      timeText(createdAt),
      madeBy,
      expiresAt === null ? 'never' : timeText(expiresAt) + (hasEnded ? ' (over)' : ''),
      label ?? '',
    ];
  });
  return [textTable(['name', 'may', 'made', 'by', 'ends', 'label'], rows)];
}

function jsonText(tokens: readonly NamedToken[]): string {
  const rows = tokens.map(({ name, may, createdAt, expiresAt, madeBy, label }) => ({
    ...{ name, may, created_at: new Date(createdAt).toISOString(), made_by: madeBy },
    expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
    label,
  }));
  return JSON.stringify(rows, null, 2);
}

/** The time that a flag names, in milliseconds since the epoch; null where it is not given. */
function laterTimeOf(reading: FlagReading, flag: string, clock: Pick<ClockPort, 'now'>): number | null {
  const text = reading.value(flag);
  if (text === null) return null;
  const [, count = '', unit = ''] = /^([1-9]\d{0,4})([mhd])$/.exec(text) ?? [];
  const time = unit === '' ? dayOf(text) : clock.now() + Number(count) * (UNITS[unit] ?? 0);
  if (Number.isNaN(time)) reading.problems.push(`--${flag}: expected ${LATER_EXPECTED}`);
  return time;
}

const dayOf = (text: string): number => (/^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN);
