import { object, optional, text } from '../schemas.js';
import { Type } from '../typebox.js';
import { ALL_ALONE, json, type OperationRows, STRANGER_BODY_LIMIT, writes } from './operation.js';

/** The operator's session. */
export const SESSION = {
  login: {
    endpoint: 'POST /login',
    access: 'open',
    presets: ALL_ALONE,
    capability: 'login',
    body: json(
      object({
        username: text('The operator login name.'),
        password: optional(text('Text.'), 'a string or null', 'The operator password; absent counts as empty.'),
      }),
    ),
    bodyLimit: STRANGER_BODY_LIMIT,
    answer: () => Type.Object({ token: text('The session token, a random UUID.', 'session') }),
    subject: 'session',
    effect: writes('begins a session, which ends the one before it'),
    failures: ['authNotConfigured', 'unauthorized'],
    summary: 'Begins a session',
    description:
      'One session per mount: a new login replaces the token before it. After repeated failures from one address the answer carries `Retry-After`.',
  },
} as const satisfies OperationRows;
