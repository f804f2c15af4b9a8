import { FILE_LIMITS } from '../../core/file-limits.js';
import { yes } from '../schemas.js';
import { Type } from '../typebox.js';
import { ALL_ALONE, destroys, NO_BODY, type OperationRows, READS } from './operation.js';

/** Status and configuration. */
export const SERVER = {
  getStatus: {
    endpoint: 'GET /server/status',
    access: 'protected',
    presets: ['status', 'keys'],
    capability: null,
    body: NO_BODY,
    answer: (revision) => revision.status.schema,
    subject: 'other',
    effect: READS,
    failures: [],
    summary: 'Server version, uptime and user counts',
    description: 'Cheap at any number of keys; what panels poll.',
  },
  getConfig: {
    endpoint: 'GET /server/config',
    access: 'protected',
    presets: ALL_ALONE,
    capability: 'config',
    body: NO_BODY,
    answer: () => Type.Object({}, { description: 'The configuration file, comments left out.' }),
    subject: 'configuration',
    effect: READS,
    failures: ['noConfigPath', 'configReadFailed', 'configStripFailed', 'configParseFailed'],
    summary: 'The configuration file as a JSON value',
    description:
      'Reads the file again. Comments are left out, numbers keep their spelling. It holds every credential of the server.',
  },
  putConfig: {
    endpoint: 'PUT /server/config',
    access: 'protected',
    presets: ALL_ALONE,
    capability: 'config',
    body: { kind: 'wholeConfig' },
    bodyLimit: FILE_LIMITS.configuration,
    answer: () => yes,
    subject: 'configuration',
    effect: destroys('replaces the configuration'),
    failures: ['configModeMissing', 'noConfigPath', 'configFormatFailed', 'configWriteFailed'],
    summary: 'Replaces the configuration file',
    description:
      'Overwrites the whole file with the body, pretty-printed: comments are lost, and the version before is kept. Keys, rules and DNS settings of the new file are live at once when its `mode` is `server`.',
  },
} as const satisfies OperationRows;
