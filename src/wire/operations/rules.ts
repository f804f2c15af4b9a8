import { yes } from '../schemas.js';
import { traitsOf } from '../traits/revision.js';
import { ALL_ALONE, destroys, NO_BODY, type OperationRows, READS } from './operation.js';

/** The outbound rules. */
export const RULES = {
  getRules: {
    endpoint: 'GET /router/rules',
    access: 'protected',
    presets: ALL_ALONE,
    capability: 'rules',
    body: NO_BODY,
    answer: (revision) => traitsOf(revision, 'rules').form.answer,
    hasTag: true,
    subject: 'rules',
    effect: READS,
    failures: [],
    summary: 'The outbound rules',
    description: 'First match wins. Empty when outbound routing is not configured.',
  },
  putRules: {
    endpoint: 'PUT /router/rules',
    access: 'protected',
    presets: ALL_ALONE,
    capability: 'rules',
    body: { kind: 'json', schema: (revision) => traitsOf(revision, 'rules').form.body },
    answer: () => yes,
    hasTag: true,
    subject: 'rules',
    effect: destroys('replaces the outbound rules'),
    failures: ['outboundNotConfigured'],
    summary: 'Replaces the outbound rules',
    description: 'Takes effect at once and replaces `rules` in the file, where unchanged rules keep their text.',
  },
} as const satisfies OperationRows;
