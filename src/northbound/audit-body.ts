import type { Audit } from '../core/audit.js';
import { type MaybeAsync, mapMaybeAsync } from '../core/maybe-async.js';
import type { AuditEntry } from '../core/model.js';
import { successEnvelope } from '../wire/envelope.js';
import { type ContentCoding, compressors } from './list-body.js';

/** The `GET /audit` answer, compressed where a coding is given. */
export type AuditBody = (coding: ContentCoding | null) => MaybeAsync<Buffer>;

/** Builds and compresses it once per change: requests that nobody reads share its bytes, however many a stranger sends. */
export function createAuditBody(audit: Pick<Audit, 'list'>): AuditBody {
  let builtFor: readonly AuditEntry[] | null = null;
  let body = Buffer.alloc(0);
  let compressed: Partial<Record<ContentCoding, Promise<Buffer>>> = {};
  return (coding) =>
    mapMaybeAsync(audit.list(), (entries) => {
      if (entries !== builtFor) {
        body = Buffer.from(successEnvelope(entries.map((entry) => ({ ...entry }))));
        compressed = {};
        builtFor = entries;
      }
      if (coding === null) return body;
      compressed[coding] ??= compressors[coding](body);
      return compressed[coding];
    });
}
