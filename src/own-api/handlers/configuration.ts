import type { ConfigurationFingerprint, ConfigurationVersions } from '../../core/backend.js';
import { DomainError } from '../../core/errors.js';
import type { ListenerConfig } from '../../core/model.js';
import { inTurns } from '../../core/steps.js';
import { endedForAll, hasCredential } from '../../document/check/keeps-starting.js';
import { readDocument } from '../../document/document.js';
import type { CountedDifference } from '../../document/explained-versions.js';
import { fingerprintOf } from '../../document/patch/fingerprint.js';
import { contentDigest } from '../../document/retention.js';
import { membersOf } from '../../document/version-difference.js';
import { failureWords } from '../../platform/failure-words.js';
import { successEnvelope, successEnvelopeOfPieces } from '../../wire/envelope.js';
import { compactJsonSteps } from '../../wire/json/json.js';
import { answer, type OwnContext, type OwnHandler, withBody } from '../call.js';
import { DetailedError, OwnError } from '../errors.js';
import type { KnownFingerprints } from '../known-fingerprints.js';
import type { RawBody } from '../operation.js';
import { PATCH_FORMS, type VERSION_REASONS } from '../rows/configuration.js';

const tagged = ({ digest }: ConfigurationFingerprint) => ({ etag: `"${digest}"` });

/** The most places that the sentence of a refusal names; its `differs` has all. */
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

/** Names the weightiest of what was done after a version was kept; null where that is not known. */
function reasonOf(next: CountedDifference | null): (typeof VERSION_REASONS)[number] | null {
  if (next === null) return null;
  // What a restore would add is what was taken away.
  if (next.added > 0) return 'keys_removed';
  if (next.places.length > 0) return 'settings_changed';
  if (next.changed > 0) return 'keys_changed';
  return next.removed > 0 ? 'keys_added' : 'spelling';
}

/** Reads a kept version. Throws `notFound`. */
async function contentOf(versions: ConfigurationVersions, wanted: string): Promise<Buffer> {
  const isKept = (await versions.list()).some(({ id }) => id === wanted);
  if (!isKept) throw new OwnError('notFound', `there is no kept version ${wanted.slice(0, 80)}`);
  return versions.read(wanted).catch((error: unknown) => {
    throw new DomainError('configReadFailed', failureWords(error));
  });
}

/**
 * Throws where a server starts from the present configuration, or a credential guards the API, and not with the version. Where the
 * present one cannot be read, which may be why another one is wanted, what was read of it last guards the API.
 */
function refuseRestore({ backend, serverFiles }: OwnContext, present: Buffer | null, content: Buffer): void {
  const ended = present === null ? null : endedForAll(present, content, serverFiles);
  if (ended !== null) throw new DomainError('unreadableByServer', ended);
  const wanted = listenerIn(content);
  if (wanted === undefined) throw new DomainError('configFormatFailed', 'that version is no configuration');
  const guarding = present === null ? undefined : listenerIn(present);
  if (hasCredential(guarding === undefined ? backend.settings().listener : guarding) && !hasCredential(wanted))
    throw new DomainError('lockOut');
}

/** Returns the listener that a text describes; undefined where it is no configuration. */
function listenerIn(bytes: Buffer): ListenerConfig | null | undefined {
  try {
    return readDocument(bytes).configuration.listener;
  } catch {
    return undefined;
  }
}

/** Resolves to the version that was kept at a restore: it also has what was written after `present` was read. */
async function keptBefore(versions: ConfigurationVersions, present: Buffer, content: Buffer) {
  const [before, restored] = [await contentDigest(present), await contentDigest(content)];
  // Nothing is kept of an empty file.
  if (present.length === 0) return undefined;
  return (await versions.list()).findLast(({ id }) => before === restored || !id.endsWith(restored));
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
  listVersions: async ({ context: { core, versions: explained } }) => {
    const versions = await explained.list(core.versions());
    return answer(
      versions
        .filter(({ isNow }) => !isNow)
        .map(({ id, keptAt, forever, difference, next }) => ({
          ...{ id, kept_at: new Date(keptAt).toISOString(), reason: reasonOf(next), forever },
          keys_added: difference?.added ?? null,
          keys_removed: difference?.removed ?? null,
          keys_changed: difference?.changed ?? null,
          members: difference && membersOf(difference.places),
        })),
    );
  },
  getVersion: async ({ context: { core }, params: { id = '' } }) => {
    const content = await contentOf(core.versions(), id);
    const pieces = await inTurns(compactJsonSteps(content)).catch((error: unknown) => {
      throw new DomainError('configParseFailed', failureWords(error));
    });
    return { payload: successEnvelopeOfPieces(pieces) };
  },
  restoreVersion: async ({ context, params: { id = '' } }) => {
    const versions = context.core.versions();
    const content = await contentOf(versions, id);
    const present = await versions.present().catch(() => null);
    refuseRestore(context, present, content);
    await versions.restore(content);
    const before = present === null ? undefined : await keptBefore(versions, present, content);
    return answer({ before: before?.id ?? null });
  },
} as const satisfies Readonly<Record<string, OwnHandler>>;
