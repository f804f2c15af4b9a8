import type { ConfigurationFingerprint } from '../../core/backend.js';
import { DomainError } from '../../core/errors.js';
import { fingerprintOf } from '../../document/patch/fingerprint.js';
import { failureWords } from '../../platform/failure-words.js';
import { successEnvelope, successEnvelopeOfPieces } from '../../wire/envelope.js';
import { type OwnHandler, withBody } from '../call.js';
import { DetailedError } from '../errors.js';
import type { KnownFingerprints } from '../known-fingerprints.js';
import type { RawBody } from '../operation.js';
import { PATCH_FORMS } from '../rows/configuration.js';

const tagged = ({ digest }: ConfigurationFingerprint) => ({ etag: `"${digest}"` });

/** So many places are named in the sentence of a refusal; its `differs` has all. */
const NAMED = 5;

/** The check that the present configuration has one of the tags of `If-Match` (RFC 9110, 13.1.1). It throws `preconditionFailed`. */
function mustMatch(header: string | undefined, known: KnownFingerprints) {
  return (present: ConfigurationFingerprint): void => {
    known.note(present);
    if (header === undefined || header.trim() === '*') return;
    const tags = [...header.matchAll(/(W\/)?"([^"]*)"/g)].flatMap(([, weak, tag = '']) =>
      weak === undefined ? [tag] : [],
    );
    if (tags.includes(present.digest)) return;
    const differs = tags.map((tag) => known.differing(tag, present)).find((places) => places !== null) ?? null;
    const more = differs !== null && differs.length > NAMED ? ` and ${differs.length - NAMED} more` : '';
    const detail =
      differs === null ? 'it is not known any more what differs' : `${differs.slice(0, NAMED).join(', ')}${more}`;
    throw new DetailedError('preconditionFailed', detail, { differs });
  };
}

export const CONFIGURATION_HANDLERS = {
  async getConfiguration({ context: { core, fingerprints } }) {
    const pieces = await core.readConfig();
    const fingerprint = await fingerprintOf(Buffer.concat(pieces)).catch((error: unknown) => {
      throw new DomainError('configParseFailed', failureWords(error));
    });
    fingerprints.note(fingerprint);
    return { payload: successEnvelopeOfPieces(pieces), headers: tagged(fingerprint) };
  },
  patchConfiguration: withBody<RawBody>(
    async ({ context: { core, fingerprints }, request, query }, { type, bytes }) => {
      const form = PATCH_FORMS[type as keyof typeof PATCH_FORMS]; // The row takes these types alone.
      const condition = mustMatch(request.headers['if-match'], fingerprints);
      const mayLockOut = query.force === 'lock-out';
      const fingerprint = await core.patchConfig({ form, body: bytes, condition, mayLockOut });
      fingerprints.note(fingerprint);
      return { payload: successEnvelope(null), headers: tagged(fingerprint) };
    },
  ),
} as const satisfies Readonly<Record<string, OwnHandler>>;
