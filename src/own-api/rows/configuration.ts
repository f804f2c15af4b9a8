import { READS, writes } from '../../wire/operations/operation.js';
import { orNull, text } from '../../wire/schemas.js';
import { Type } from '../../wire/typebox.js';
import type { OwnRows } from '../operation.js';
import { exactly } from '../schemas.js';

/** The content types of a patch, and the form that each stands for. */
export const PATCH_FORMS = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
} as const;

const CONFIGURATION_OBJECT = Type.Unsafe<object>({
  type: 'object',
  description: "The server's configuration, without comments; it holds credentials.",
});

/** The reasons for which versions are named: the weightiest change after each, in this order. */
export const VERSION_REASONS = ['keys_removed', 'settings_changed', 'keys_changed', 'keys_added', 'spelling'] as const;

const count = (description: string) =>
  orNull(Type.Integer({ minimum: 0 }), 'an integer', `${description}; null where that is not known.`);

const VERSION = exactly({
  id: text('Its id.'),
  kept_at: Type.String({ format: 'date-time', description: 'When it was kept.' }),
  reason: orNull(
    Type.Union(VERSION_REASONS.map((reason) => Type.Literal(reason))),
    `one of ${VERSION_REASONS.join(', ')}, or null`,
    'What was done after it; null where that is not known.',
  ),
  forever: Type.Boolean({ description: 'It is never removed, as one from before a great loss.' }),
  keys_added: count('Keys that a restore adds'),
  keys_removed: count('Keys that it removes'),
  keys_changed: count('Keys that it changes'),
  members: orNull(
    Type.Array(Type.String()),
    'an array',
    'Members of the root that it changes besides keys; null where that is not known.',
  ),
});

const RESTORED = exactly({
  before: orNull(Type.String(), 'a string', 'The id of the version that takes it back; null where none was kept.'),
});

/** The failures of each write of the whole configuration. */
const WRITE_FAILURES = [
  'configModeMissing',
  'configFormatFailed',
  'configRefused',
  'unreadableByServer',
  'lockOut',
  'configWriteFailed',
] as const;

/** The configuration as one document. */
export const CONFIGURATION = {
  getConfiguration: {
    endpoint: 'GET /configuration',
    access: [],
    effect: READS,
    answer: CONFIGURATION_OBJECT,
    failures: ['noConfigPath', 'configReadFailed', 'configStripFailed', 'configParseFailed'],
    summary: 'The configuration',
    description:
      'The whole of it, its lists of keys included. The `ETag` is that of all but the lists of keys, comments and spelling, so that keys that are made meanwhile change nothing of it.',
  },
  patchConfiguration: {
    endpoint: 'PATCH /configuration',
    access: [],
    effect: writes('changes the configuration'),
    query: {
      force: { kind: 'text', description: '`lock-out` takes the last credential away, too.' },
    },
    headers: { 'If-Match': 'Entity tags, of which the present configuration must have one; `*` for any.' },
    body: {
      schema: Type.Unsafe<unknown>({
        description: 'A JSON Patch (RFC 6902), or a Merge Patch (RFC 7396), as the content type says.',
        expected: 'a patch',
      }),
      types: Object.keys(PATCH_FORMS),
      isRaw: true,
    },
    answer: Type.Null({ description: 'The configuration is asked for by itself; its new `ETag` is in the head.' }),
    failures: ['preconditionFailed', 'conflict', 'useKeys', ...WRITE_FAILURES, 'noConfigPath'],
    summary: 'Changes what is named of the configuration',
    description:
      'The smallest edit of the text, comments and spelling kept, with the version before kept. A patch that touches a list of keys is refused with `use_keys`; one that replaces what holds a list keeps that list. Where a `test` fails, 409; where the configuration is another one than `If-Match` says, 412 with `differs`, JSON Pointers of the places that differ, or null where that is not known. Where a server that reads the file would start from it before and not afterwards, 422 `unreadable_by_server` with the member; where no credential would be left, 422 `lock_out`.',
  },
  listVersions: {
    endpoint: 'GET /configuration/versions',
    access: [],
    effect: READS,
    answer: Type.Array(VERSION),
    failures: ['noConfigPath', 'configReadFailed'],
    summary: 'The kept versions of the configuration',
    description:
      'Newest first, each with what its restore would change of what is there now; one that is that is left out.',
  },
  getVersion: {
    endpoint: 'GET /configuration/versions/{id}',
    access: [],
    effect: READS,
    answer: CONFIGURATION_OBJECT,
    failures: ['notFound', 'noConfigPath', 'configReadFailed', 'configStripFailed', 'configParseFailed'],
    summary: 'A kept version',
    description: 'The whole of it, its lists of keys included.',
  },
  restoreVersion: {
    endpoint: 'POST /configuration/versions/{id}/restore',
    access: [],
    effect: writes('restores a version of the configuration'),
    answer: RESTORED,
    failures: ['notFound', 'noConfigPath', 'configReadFailed', ...WRITE_FAILURES],
    summary: 'Restores a kept version',
    description:
      'The configuration with its keys is what it was then, comments included; what it is now is kept as a version, whose restore takes it back. Where a server would start from what is there now, and none from the version, 422 `unreadable_by_server` with the member; where no credential would be left, 422 `lock_out`.',
  },
} as const satisfies OwnRows;
