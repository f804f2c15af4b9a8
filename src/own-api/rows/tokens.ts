import type { Static } from 'typebox';
import { PRESETS } from '../../core/principal.js';
import { destroys, READS, writes } from '../../wire/operations/operation.js';
import { optional, orNull, text } from '../../wire/schemas.js';
import { Type } from '../../wire/typebox.js';
import type { OwnRows } from '../operation.js';
import { exactly } from '../schemas.js';

const may = Type.Union(
  PRESETS.map((preset) => Type.Literal(preset)),
  { expected: `one of ${PRESETS.join(', ')}`, description: 'What its holder may do.' },
);
const ends = (description: string) => Type.String({ format: 'date-time', description });

const TOKEN = exactly({
  name: text('Its name.'),
  may,
  created_at: ends('When it was made.'),
  expires_at: orNull(ends('A time.'), 'a time or null', 'When it ends; null for never.'),
  made_by: text('The name of the token with which it was made; `static`, `session` or `terminal` for none.'),
  label: orNull(text('Words.'), 'a string or null', "Its maker's words for people; null for none."),
});

const NEW_TOKEN = exactly({
  name: optional(
    text('A name.'),
    'a string or null',
    'Its name: 1 to 64 letters, digits, dots, dashes and underscores; one is made where it is absent.',
  ),
  may,
  expires_at: optional(
    ends('A time.'),
    'a time such as 2027-03-01T00:00:00Z, or null',
    'When it ends; absent for never.',
  ),
  label: optional(
    text('Words.'),
    'a string or null',
    'Words for people, such as "Anna\'s phone": one line of at most 100 characters.',
  ),
});

export type NewToken = Static<typeof NEW_TOKEN>;

/** Named tokens. A caller that may make them may do everything. */
export const TOKENS = {
  listTokens: {
    endpoint: 'GET /tokens',
    access: [],
    effect: READS,
    answer: Type.Array(TOKEN),
    failures: [],
    summary: 'The named tokens, without their secrets',
    description: 'In the order of their names, also those that have expired.',
  },
  addToken: {
    endpoint: 'POST /tokens',
    access: [],
    effect: writes('makes a token'),
    body: { schema: NEW_TOKEN },
    answer: exactly({ name: text('Its name.'), token: text('The secret, which is told this once.') }),
    failures: ['conflict', 'saveFailed', 'outcomeUnknown'],
    summary: 'Makes a named token',
    description:
      'The secret is told this once; its SHA-256 is kept. No token makes one that lives longer than itself. `static`, `session`, `terminal`, `open` and `others` are no names.',
  },
  removeToken: {
    endpoint: 'DELETE /tokens/{name}',
    access: [],
    effect: destroys('ends a token'),
    answer: Type.Null(),
    failures: ['notFound', 'saveFailed', 'outcomeUnknown'],
    summary: 'Ends a named token',
    description: 'At once, with every gateway of the state within a second.',
  },
} as const satisfies OwnRows;
