import { traitsOf } from '../traits/revision.js';
import { ALL_ALONE, destroys, NO_BODY, type OperationRows, READS } from './operation.js';

/** The settings of the servers' own overlay network. */
export const OVERNET = {
  getOvernet: {
    endpoint: 'GET /overnet',
    access: 'protected',
    presets: ALL_ALONE,
    capability: 'overnet',
    body: NO_BODY,
    answer: (revision) => traitsOf(revision, 'overnet').form.answer,
    subject: 'other',
    effect: READS,
    failures: [],
    summary: 'The settings under `overnet`, and whether it runs',
    description: 'Over a file Keyway keeps the settings and runs nothing of it: `serving` is false.',
  },
  putOvernet: {
    endpoint: 'PUT /overnet',
    access: 'protected',
    presets: ALL_ALONE,
    capability: 'overnet',
    body: { kind: 'json', schema: (revision) => traitsOf(revision, 'overnet').form.body },
    answer: (revision) => traitsOf(revision, 'overnet').form.answer,
    subject: 'other',
    effect: destroys('replaces the settings under `overnet`'),
    failures: ['noConfigPath'],
    summary: 'Replaces the settings under `overnet`',
    description: 'An absent member is its default. They are stored under `overnet` in the file.',
  },
} as const satisfies OperationRows;
