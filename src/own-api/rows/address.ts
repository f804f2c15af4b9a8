import type { Static } from 'typebox';
import { writes } from '../../wire/operations/operation.js';
import { optional, text } from '../../wire/schemas.js';
import { Type } from '../../wire/typebox.js';
import type { OwnRows } from '../operation.js';
import { exactly } from '../schemas.js';

const PORT = Type.BigInt({ minimum: 1n, maximum: 65_535n, expected: 'a port from 1 to 65535', description: 'A port.' });

const NEW_ADDRESS = exactly({
  host: text('A host name or an IP address that clients can reach.'),
  port: optional(PORT, 'a port from 1 to 65535, or null', 'Absent for the port on which the server listens.'),
});

export type NewAddress = Static<typeof NEW_ADDRESS>;

/** The address at which clients reach the tunnel server. */
export const ADDRESS = {
  putAddress: {
    endpoint: 'PUT /address',
    access: [],
    effect: writes('sets the address that links name'),
    body: { schema: NEW_ADDRESS },
    answer: exactly({ host: text('As links have it, an IPv6 address in brackets.'), port: PORT }),
    failures: ['conflict', 'saveFailed', 'outcomeUnknown'],
    summary: 'Sets the address that links name from now on',
    description:
      'Over a file the host stands in `.ostp_public_ip` beside it, where servers read it, too. 409 names the setting or the `domain` that decides the address.',
  },
} as const satisfies OwnRows;
