import { READS, writes } from '../../wire/operations/operation.js';
import { Type } from '../../wire/typebox.js';
import type { OwnRows } from '../operation.js';

/** The content types of a patch, and the form that each stands for. */
export const PATCH_FORMS = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
} as const;

const CONFIGURATION_OBJECT = Type.Unsafe<object>({
  type: 'object',
  description: "The server's configuration, without comments; it holds credentials.",
});

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
    failures: [
      'preconditionFailed',
      'conflict',
      'useKeys',
      'configModeMissing',
      'configFormatFailed',
      'configRefused',
      'unreadableByServer',
      'lockOut',
      'configWriteFailed',
      'noConfigPath',
    ],
    summary: 'Changes what is named of the configuration',
    description:
      'The smallest edit of the text, comments and spelling kept, with the version before kept. A patch that touches a list of keys is refused with `use_keys`; one that replaces what holds a list keeps that list. Where a `test` fails, 409; where the configuration is another one than `If-Match` says, 412 with `differs`, JSON Pointers of the places that differ, or null where that is not known. Where a server that reads the file would start from it before and not afterwards, 422 `unreadable_by_server` with the member; where no credential would be left, 422 `lock_out`.',
  },
} as const satisfies OwnRows;
