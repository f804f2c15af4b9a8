import { flag, object, text, yes } from '../schemas.js';
import type { Revision } from '../traits/revision.js';
import { Type } from '../typebox.js';
import { ALL_ALONE, destroys, json, NO_BODY, type OperationRows, READS, STRANGER_BODY_LIMIT } from './operation.js';

const EVENT = {
  eventEn: text('Event text, first language.'),
  eventRu: text('Event text, second language.'),
  success: flag('Outcome.'),
};

const ENTRY = Type.Object({
  id: text('A random unsigned 64-bit number in lowercase hexadecimal.', 'audit-id'),
  time: text('Local time of creation, `HH:MM:SS`.', 'time'),
  ...EVENT,
});

const accessOfAudit = ({ capabilities }: Revision) => capabilities.audit?.access ?? 'open';

/** The audit list. */
export const AUDIT = {
  listAudit: {
    endpoint: 'GET /audit',
    access: accessOfAudit,
    presets: ALL_ALONE,
    capability: 'audit',
    body: NO_BODY,
    answer: () => Type.Array(ENTRY),
    subject: 'audit',
    effect: READS,
    failures: [],
    summary: 'The audit list, newest first',
    description: 'At most 100 entries, kept in memory.',
  },
  addAudit: {
    endpoint: 'POST /audit',
    access: accessOfAudit,
    presets: ALL_ALONE,
    capability: 'audit',
    body: json(object(EVENT)),
    bodyLimit: STRANGER_BODY_LIMIT,
    answer: () => yes,
    subject: 'audit',
    effect: destroys('adds to the audit list, which drops its oldest entry'),
    failures: [],
    summary: 'Adds an audit entry',
    description: 'Inserts at the front; the oldest of more than 100 is dropped.',
  },
  clearAudit: {
    endpoint: 'DELETE /audit',
    access: accessOfAudit,
    presets: ALL_ALONE,
    capability: 'audit',
    body: NO_BODY,
    answer: () => Type.Null(),
    subject: 'audit',
    effect: destroys('clears the audit list'),
    failures: [],
    summary: 'Empties the audit list',
    description: 'Empties the list.',
  },
} as const satisfies OperationRows;
