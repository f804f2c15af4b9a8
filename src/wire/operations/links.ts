import { object, orNull, text } from '../schemas.js';
import { Type } from '../typebox.js';
import { json, MAY_CHANGE, NO_BODY, type OperationRows, READS } from './operation.js';

/** Links and QR codes for users. */
export const LINKS = {
  getShare: {
    endpoint: 'GET /users/{key}/share',
    access: 'protected',
    presets: ['keys'],
    capability: 'share',
    body: NO_BODY,
    answer: () =>
      Type.Object({
        tls: orNull(Type.String(), 'a string or null', 'The link over TLS; null without.'),
        udp: text('The link over UDP.'),
        subscription: orNull(Type.String(), 'a string or null', 'The URL of the subscription; null without.'),
      }),
    subject: 'keys',
    effect: READS,
    failures: ['userNotFound'],
    summary: 'Links and subscription of a key, with its name',
    description: 'Links carry the name of the key, or the announced host, and the carrier.',
  },
  makeQr: {
    endpoint: 'POST /qr',
    access: 'protected',
    presets: ['create', 'keys'],
    capability: 'qr',
    body: json(object({ text: text('At most 2,048 bytes.') })),
    answer: () => text('An SVG image.'),
    subject: 'other',
    effect: MAY_CHANGE,
    failures: [],
    summary: 'A QR code of a text',
    description: 'At least 240 by 240, black on white. Nothing is kept.',
  },
} as const satisfies OperationRows;
