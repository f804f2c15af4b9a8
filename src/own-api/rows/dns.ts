import type { Static } from 'typebox';
import { MAY_CHANGE, READS, writes } from '../../wire/operations/operation.js';
import { flag, orNull, text, u64 } from '../../wire/schemas.js';
import { Type } from '../../wire/typebox.js';
import { type OwnRows, PAGE } from '../operation.js';
import { exactly } from '../schemas.js';

const time = (description: string) => Type.String({ format: 'date-time', description });
const timeOrNull = (description: string) => orNull(time('A time.'), 'a time or null', description);
const textOrNull = (description: string) => orNull(Type.String(), 'a string or null', description);

/** The members of each answer that tell whether this Keyway resolves. */
const RUNNING = {
  running: flag('Whether questions are answered here.'),
  reason: orNull(
    Type.Union([Type.Literal('off'), Type.Literal('waiting'), Type.Literal('none')]),
    'off, waiting, none, or null',
    'Why they are not: `off`, switched off in the settings; `waiting`, its port is not open: it was switched on just now, or the port is taken or not to be had, and tried again; `none`, this Keyway has no DNS server, in front of a server that has one, or with `--no-resolver`.',
  ),
};

const LIST = exactly({
  name: text('Its name; the URL where the settings give none.'),
  url: text('As the settings have it, credentials in it included.'),
  kind: Type.Union([Type.Literal('block'), Type.Literal('allow')], { description: 'What it does to its names.' }),
  enabled: flag('Whether it is used.'),
  names: orNull(u64('Names.'), 'an integer or null', 'Names in it; null while it has no content.'),
  fetched_at: timeOrNull('When its content came; null while it has none.'),
  error: textOrNull('Why the last refresh kept its old content, or why it is not read.'),
});

const STATE = exactly({
  ...RUNNING,
  enabled: flag('Whether it is switched on in the settings.'),
  refreshing: flag('Whether lists are being fetched.'),
  refreshed_at: timeOrNull('When the last refresh ended.'),
  lists: Type.Array(LIST),
  today: orNull(
    exactly({
      since: time('Midnight in UTC, or the later start from which on they are counted.'),
      questions: u64('Questions.'),
      blocked: u64('Those that were blocked.'),
    }),
    'an object or null',
    'Null where none are counted.',
  ),
});

const SWITCHES = exactly({
  enabled: Type.Optional(flag('Switches the DNS server on or off.')),
  lists: Type.Optional(
    Type.Array(exactly({ url: text('Its URL.'), enabled: flag('On or off.') }), {
      expected: 'an array of objects with url and enabled',
      description:
        'Lists to switch; others stay. One that is not there comes by being switched on. The older form of the settings, `adblock_urls`, knows no list that is off: it leaves them there, and is told as off until Keyway ends.',
    }),
  ),
});

export type DnsSwitches = Static<typeof SWITCHES>;

/** The DNS server of this Keyway. */
export const DNS = {
  getDns: {
    endpoint: 'GET /dns',
    access: [],
    effect: READS,
    answer: STATE,
    failures: [],
    summary: 'The DNS server with its lists',
    description: 'Whether it answers, and what became of each list and of the questions of today, in UTC.',
  },
  patchDns: {
    endpoint: 'PATCH /dns',
    access: [],
    effect: writes('switches the DNS server or its lists'),
    body: { schema: SWITCHES },
    answer: STATE,
    failures: ['saveFailed', 'savedInMemory', 'outcomeUnknown'],
    summary: 'Switches the DNS server or its lists',
    description: 'A change of the DNS settings as by a revision. Lists that are switched on are fetched.',
  },
  getDnsLog: {
    endpoint: 'GET /dns/log',
    access: [],
    effect: READS,
    query: {
      limit: PAGE.limit,
      search: { kind: 'text', description: 'A part of the name or of the client, in small letters or capitals.' },
    },
    answer: exactly({
      ...RUNNING,
      entries: Type.Array(
        exactly({
          time: time('When it was asked.'),
          client: text('Who asked.'),
          name: text('The name asked for.'),
          type: text('The type of record.'),
          outcome: text('`allowed`, `blocked`, `cached`, `rewritten` or `failed`.'),
          rule: textOrNull('The rule that decided.'),
          source: textOrNull('The list that it stands in.'),
          upstream: textOrNull('The upstream that answered.'),
          elapsed_ms: u64('Milliseconds.'),
        }),
      ),
    }),
    failures: [],
    summary: 'The questions that are kept, newest first',
    description: 'As many as `query_log_size` of the settings says.',
  },
  refreshDns: {
    endpoint: 'POST /dns/refresh',
    access: [],
    effect: MAY_CHANGE,
    answer: STATE,
    failures: [],
    summary: 'Begins to fetch the lists again',
    description:
      '`refreshing` is true until that ended, `refreshed_at` tells when. Nothing is fetched where the DNS server is off, or not here.',
  },
} as const satisfies OwnRows;
