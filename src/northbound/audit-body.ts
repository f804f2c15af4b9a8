import type { Audit } from '../core/audit.js';
import type { AuditEntry } from '../core/model.js';
import { successEnvelope } from '../wire/envelope.js';
import { type ContentCoding, compressors } from './list-body.js';

/** Returns the `GET /audit` answer, compressed if a coding is given. */
export type AuditBody = (coding: ContentCoding | null) => Promise<Buffer>;

/**
 * Builds and compresses the answer once per change, so that unread requests of a stranger share its bytes, however many
 * he sends.
 */
export function createAuditBody(audit: Pick<Audit, 'list'>): AuditBody {
  let builtFor: readonly AuditEntry[] | null = null;
  let body = Buffer.alloc(0);
  let compressed: Partial<Record<ContentCoding, Promise<Buffer>>> = {};
  return async (coding) => {
    const entries = await audit.list();
    if (entries !== builtFor) {
      body = Buffer.from(successEnvelope(entries.map((entry) => ({ ...entry }))));
      compressed = {};
      builtFor = entries;
    }
    if (coding === null) return body;
    compressed[coding] ??= compressors[coding](body);
    return compressed[coding];
  };
}
