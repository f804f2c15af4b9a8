import { DomainError } from '../../src/core/errors.js';
import type { Handler } from '../../src/northbound/handlers.js';
import { successEnvelope } from '../../src/wire/envelope.js';
import { commonErrors } from '../../src/wire/errors.js';
import { destroys, json, NO_BODY, type OperationRow, writes } from '../../src/wire/operations/operation.js';
import { object, text, yes } from '../../src/wire/schemas.js';
import { underBase } from '../../src/wire/traits/api-root.js';
import { sessionOrStaticToken } from '../../src/wire/traits/auth.js';
import { onlineWhenConnected } from '../../src/wire/traits/online.js';
import type { Capabilities, Revision } from '../../src/wire/traits/revision.js';
import { inboundsFile } from '../../src/wire/traits/server-file.js';
import { udpQueryWithOwnDns } from '../../src/wire/traits/share-link.js';
import { snapshotOf, snapshotWithNameAndLastSeen } from '../../src/wire/traits/snapshot.js';
import { statusOfCounts } from '../../src/wire/traits/status-form.js';
import { storesAll } from '../../src/wire/traits/storing.js';
import { oneLink } from '../../src/wire/traits/subscribe-form.js';

/** A capability that no line has. The cast stands for the member that a real one would add to `Capabilities`. */
const freezing = { login: true, freezing: true } as Capabilities;

const NOON = '12:00:00';

/** The text that it says otherwise. */
export const NO_SUCH_USER = 'no such user';

/** The record of a line that there is not: one new snapshot member, one new operation, one changed text. */
export const line9_9_9: Revision = {
  id: '9.9.9',
  from: '9.9.9',
  to: null,
  reportedVersion: '9.9.9',
  recordedFrom: null,
  root: underBase,
  auth: sessionOrStaticToken,
  snapshot: snapshotOf('frozen_until', [
    ...snapshotWithNameAndLastSeen.parts,
    {
      members: [{ name: 'frozen_until', schema: () => text('When the key thaws.', 'time') }],
      encode: () => `"frozen_until":${JSON.stringify(NOON)}`,
    },
  ]),
  online: onlineWhenConnected,
  shareQuery: udpQueryWithOwnDns,
  subscribe: oneLink,
  status: statusOfCounts,
  anyOrigin: true,
  errors: { ...commonErrors, userNotFound: { ...commonErrors.userNotFound, text: NO_SUCH_USER } },
  file: inboundsFile,
  storing: storesAll,
  endsSessionsOverLimit: true,
  connectionsFall: false,
  capabilities: freezing,
};

/** The row of its operation. */
export const freezeUser: OperationRow = {
  endpoint: 'POST /users/{key}/freeze',
  access: 'protected',
  presets: [],
  capability: 'freezing' as keyof Capabilities, // As above.
  body: json(object({ thaws_at: text('When the key thaws.') })),
  answer: () => object({ frozen_key: text('The key.', 'key'), thaws_at: text('When the key thaws.', 'time') }),
  subject: 'keys',
  effect: writes('makes or changes keys'),
  failures: ['userNotFound'],
  summary: 'Freezes a key',
  description: 'A frozen key is not admitted until it thaws.',
};

const freezeHandler: Handler = async ({ context: { core }, key }) => {
  if ((await core.key(key)) === undefined) throw new DomainError('userNotFound');
  return { payload: successEnvelope({ frozen_key: key, thaws_at: NOON }) };
};

/** One that replaces what no other operation shows, so that nobody could put it back. */
export const meltEverything: OperationRow = {
  ...freezeUser,
  endpoint: 'POST /melt',
  body: NO_BODY,
  answer: () => yes,
  subject: 'other',
  effect: destroys('melts everything'),
  failures: [],
};

/** Their rows, and what they do. */
export const MADE_ROWS = { freezeUser, meltEverything };
export const MADE_HANDLERS: Readonly<Record<keyof typeof MADE_ROWS, Handler>> = {
  freezeUser: freezeHandler,
  meltEverything: async () => ({ payload: successEnvelope(true) }),
};
